/** Funds and accounts that a memory chain creates from nothing. */
import type { Address } from '../port.ts';
import { TOKEN_PROGRAM } from '../programs/ids.ts';
import type { Mint } from '../programs/mint.ts';
import { associatedTokenAddress } from '../web3/addresses.ts';
import type { TransferMint } from '../web3/buildTransfer.ts';
import {
  type Accounts,
  type HeldAccount,
  heldAt,
  mintData,
  rentOf,
  tokenAccountAt,
  tokenAccountData,
  withAccount,
  withLamports,
} from './accounts.ts';

export interface Gifts {
  /** Created from nothing, and final at once. The same holds for mints and tokens. */
  readonly fund: (address: Address, lamports: bigint) => void;
  readonly createMint: (
    mint?: Partial<Pick<Mint, 'program' | 'decimals' | 'freezeAuthority'>>,
  ) => TransferMint;
  /** Into the associated account, unless another is given. */
  readonly giveTokens: (mint: TransferMint, owner: Address, amount: bigint, at?: Address) => Address;
  readonly setFrozen: (tokenAccount: Address, isFrozen: boolean) => void;
  /** Replaces any existing account. */
  readonly putAccount: (address: Address, account: HeldAccount) => void;
  /** With everything it holds. */
  readonly closeAccount: (address: Address) => void;
}

export function gifts({
  everywhere,
  uniqueName,
}: {
  readonly everywhere: (change: (accounts: Accounts) => Accounts) => void;
  readonly uniqueName: (of: string) => string;
}): Gifts {
  return {
    fund: (address, lamports) => everywhere((accounts) => withLamports(accounts, address, lamports)),
    createMint: ({ program = TOKEN_PROGRAM, decimals = 6, freezeAuthority = null } = {}) => {
      const address = uniqueName('mint');
      const data = mintData({ decimals, freezeAuthority });
      everywhere((accounts) =>
        withAccount(accounts, address, { owner: program, lamports: rentOf(data.length), data }),
      );
      return { address, program, decimals };
    },
    giveTokens: (
      mint,
      owner,
      amount,
      address = associatedTokenAddress(owner, mint.address, mint.program),
    ) => {
      everywhere((accounts) => {
        const held = tokenAccountAt(accounts, address);
        const data = tokenAccountData({
          program: mint.program,
          mint: mint.address,
          owner,
          amount: (held?.amount ?? 0n) + amount,
          isFrozen: held?.isFrozen ?? false,
        });
        return withAccount(accounts, address, { owner: mint.program, lamports: rentOf(data.length), data });
      });
      return address;
    },
    setFrozen: (address, isFrozen) =>
      everywhere((accounts) => {
        const held = tokenAccountAt(accounts, address);
        if (!held) return accounts;
        return withAccount(accounts, address, {
          ...heldAt(accounts, address),
          data: tokenAccountData({ ...held, isFrozen }),
        });
      }),
    putAccount: (address, account) => everywhere((accounts) => withAccount(accounts, address, account)),
    closeAccount: (address) =>
      everywhere((accounts) => withLamports(accounts, address, -heldAt(accounts, address).lamports)),
  };
}
