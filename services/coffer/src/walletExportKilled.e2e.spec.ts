/**
 * A service that dies in the middle of an export: a repeated request gets the key, and the user gets another wallet
 * whether anybody repeats it or not. Source: docs/adr/0022-export-and-migration.md.
 */

import { requireStatus, type TestApp } from '@coffer/host/testing';
import { encodeBase58, type FailPointName } from '@coffer/kernel';
import { eventually } from '@coffer/testing';
import { newRecipient } from '@coffer/wallets/testing';
import { expect } from 'chai';
import nacl from 'tweetnacl';
import { clientOf, newcomers, pageAt, typesOf, useMortalNodes } from './testing/mortalNodes.ts';
import type { ServiceProcess } from './testing/serviceProcess.ts';

const BEFORE = ['IdentityClaimed', 'UserRegistered', 'IdentityLinked', 'WalletProvisioned'];
const AFTER = [...BEFORE, 'WalletExported', 'WalletProvisioned'];
const DEATHS: readonly FailPointName[] = ['export.exported', 'export.retired'];

describe('a service that dies in the middle of an export', () => {
  const nodes = useMortalNodes();
  let node: ServiceProcess;
  before(async () => {
    node = await nodes.start(['api', 'projector']);
  });

  const exporting = async () => {
    const app = await nodes.newApp(node);
    const { accessToken: key, user } = await newcomers.siws()(pageAt(node, app));
    const { id, address } = user.wallets[0] ?? expect.fail();
    const { recipientPublicKey, open } = newRecipient();
    const body = { idempotencyKey: 'mine', recipientPublicKey };
    return {
      app,
      id,
      address,
      open,
      ask: (service: ServiceProcess) => clientOf(service).post(`/wallets/${id}/export`, body, { key }),
      me: async () => requireStatus(await clientOf(node).get('/wallets/me', { key }), 200).json,
    };
  };
  type Exporting = Awaited<ReturnType<typeof exporting>>;

  const dieAt = async (at: FailPointName, { app, ask }: Exporting) => {
    // An export waits for the rows of everything that was in the log when its node started.
    const doomed = await nodes.start(['api'], at, { until: 'ready' });
    const answer = await ask(doomed).then(
      ({ text }) => text,
      () => 'none',
    );
    expect(answer).to.equal('none');
    expect(await doomed.ended).to.include({ signal: 'SIGKILL' });
    expect(await eventTypes(app)).to.deep.equal(AFTER.slice(0, -1));
  };
  const eventTypes = async (app: TestApp) => typesOf(await nodes.events(node, app));
  const isRetired = async ({ id }: Exporting) => {
    const retired =
      'select 1 from records.wallets_sealed_keys where wallet_id = $1 and retired_at is not null';
    return (await nodes.pool().query(retired, [id])).rowCount === 1;
  };

  /** Returned for every repeat, in the same bytes; the next wallet is created once. */
  async function expectHandedOut(one: Exporting): Promise<void> {
    const first = requireStatus(await one.ask(node), 200);
    expect(first.replayed).to.equal(true);
    expect((await one.ask(node)).text).to.equal(first.text);
    const { exported, wallet } = first.json;
    const bytes = one.open(Object(exported).sealedSecretKey) ?? expect.fail();
    expect(encodeBase58(nacl.sign.keyPair.fromSeed(bytes.slice(0, 32)).publicKey)).to.equal(one.address);
    expect(await isRetired(one)).to.equal(true);
    expect(await one.me()).to.deep.equal(wallet);
    expect(await eventTypes(one.app)).to.deep.equal(AFTER);
    expect(await nodes.keptAddresses(one.app)).to.have.length(2);
  }

  for (const at of DEATHS) {
    it(`${at}: whoever asks again is answered`, async () => {
      const one = await exporting();
      await dieAt(at, one);
      expect(await isRetired(one)).to.equal(at === 'export.retired');
      await expectHandedOut(one);
    });
  }

  for (const at of DEATHS) {
    it(`${at}: where nobody asks again, the process gives the user the next wallet`, async () => {
      const one = await exporting();
      await dieAt(at, one);
      const finisher = await nodes.start(['process-manager']);
      try {
        await eventually('there is another wallet', async () => {
          const { length } = await eventTypes(one.app);
          return length === AFTER.length || undefined;
        });
      } finally {
        await finisher.terminate();
      }
      expect(await eventTypes(one.app)).to.deep.equal(AFTER);
      expect(await isRetired(one), 'before there is another wallet').to.equal(true);
      expect(await one.me())
        .to.include({ status: 'active' })
        .and.not.include({ id: one.id });
      await expectHandedOut(one);
    });
  }
});
