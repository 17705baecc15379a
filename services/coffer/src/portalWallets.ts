/** Gives the operator's admin API the wallets: those of users, to replace, and the app's own. */
import type { CommandContext } from '@coffer/event-store';
import type { Clock } from '@coffer/kernel';
import type { AppWallet, PortalWallets } from '@coffer/portal';
import type { Users } from '@coffer/users';
import type { OperatorWallets, WalletMigration } from '@coffer/wallets';
import type { Chains } from './chains.ts';
import { commandContextOf } from './commandContextOf.ts';

const ROLES = ['treasury', 'feePayer'] as const;

export function portalWallets({
  users,
  migration,
  operatorWallets,
  chains,
  clock,
}: {
  readonly users: Pick<Users, 'show'>;
  readonly migration: WalletMigration;
  readonly operatorWallets: OperatorWallets;
  readonly chains: Pick<Chains, 'find'>;
  readonly clock: Clock;
}): PortalWallets {
  return {
    async migrate(place, ref, context) {
      await users.show(place, context);
      return migration.migrate(place, ref, commandContextOf(context, clock));
    },
    async ofApp(place, context) {
      const command = commandContextOf(context, clock);
      return Promise.all(ROLES.map((role) => shown({ ...place, role }, command)));
    },
  };

  async function shown(
    { environment, appId, role }: Parameters<OperatorWallets['provision']>[0],
    context: CommandContext,
  ): Promise<AppWallet> {
    const { address } = await operatorWallets.provision({ environment, appId, role }, context);
    const chain = chains.find(environment);
    const [account] = chain ? await chain.accounts([address], 'confirmed') : [];
    return { role, address, lamports: chain ? (account?.lamports ?? 0n) : null };
  }
}
