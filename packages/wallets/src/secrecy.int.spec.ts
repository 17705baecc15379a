/** Looks for keys everywhere but where they belong: in the log of the process, errors, events and every table. */
import { inspect } from 'node:util';
import { createLogger } from '@coffer/http';
import { encodeBase58 } from '@coffer/kernel';
import { createTestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import type { WalletPlace } from './domain/walletIds.ts';
import { newMasterKey } from './masterKeys.ts';
import { startRewrapper } from './rewrap.ts';
import { createMasterKeyRotation } from './rotation.ts';
import {
  contextOf,
  firstKeys,
  NOW,
  newOwner,
  openingFor,
  seedOf,
  startWalletWorld,
  type WalletWorld,
  walletTemplate,
} from './testing/index.ts';

/** Every form in which we could have written bytes. */
const writingsOf = (secret: Buffer): readonly string[] => [
  ...(['hex', 'base64', 'base64url', 'latin1'] as const).map((coding) => secret.toString(coding)),
  encodeBase58(secret),
  secret.join(','),
  secret.join(', '),
  inspect(secret)
    .replace(/^<Buffer |>$/g, '')
    .slice(0, 40),
];

describe('keys', () => {
  let world: WalletWorld;
  before(async () => {
    world = startWalletWorld(await createTestDatabase(walletTemplate));
  });
  after(() => world.stop());

  it('are in no log, no error, no event and no table', async () => {
    const keys = [...firstKeys(), newMasterKey('test', 2)];
    const process = await world.start(keys.slice(0, 2));
    const logLines: string[] = [];
    const logger = createLogger({ level: 'trace', destination: { write: (line) => logLines.push(line) } });
    const errors: string[] = [];
    const noteFailure = async (work: Promise<unknown>) => {
      const error = await work.then(
        () => expect.fail('It must fail.'),
        (reason: unknown) => reason,
      );
      logger.error({ err: error }, 'failed');
      errors.push(inspect(error, { depth: 12, showHidden: true }), JSON.stringify(error));
    };

    const places: WalletPlace[] = [];
    for (let count = 0; count < 5; count++) {
      const { userId, ...place } = newOwner();
      const view = await process.wallets.provision({ ...place, userId }, contextOf());
      logger.info({ view, process }, 'provisioned');
      places.push({ ownerId: place.scopeId, environment: place.environment, walletId: view.id });
    }
    const secrets: Buffer[] = keys.map(({ key }) => key.export());
    for (const place of places) {
      await process.signer.sign(place, Buffer.from('m'), openingFor('sign'));
      secrets.push(await seedOf(world.pool, place, process.masterKeys));
    }

    const [first] = places;
    if (!first) return expect.fail('There is a wallet.');
    const rotating = await world.start(keys);
    logger.info({ rotating }, 'to rotate');
    await createMasterKeyRotation({
      pool: world.pool,
      masterKeys: rotating.masterKeys,
      clock: () => NOW,
      makeNext: undefined,
      onRotated() {},
    }).rotate({ environment: 'test', actor: 'operator', requestId: 'req-1' });
    await world.pool.query(
      `update records.wallets_sealed_keys set wrapped_data_key = sealed_seed where wallet_id = '${first.walletId}'`,
    );
    await new Promise<void>((resolve) => {
      const rewrapper = startRewrapper({
        pool: world.pool,
        masterKeys: rotating.masterKeys,
        onTrouble: (error) => {
          logger.error({ err: error }, 'trouble');
          errors.push(inspect(error, { depth: 12, showHidden: true }));
        },
        onDone: (report) => {
          logger.info(report, 'done');
          void rewrapper.stop().then(resolve);
        },
      });
      rewrapper.wake();
    });
    await noteFailure(process.signer.sign(first, Buffer.from('m'), openingFor('sign')));
    await noteFailure(world.start([newMasterKey('test', 1)]));
    await noteFailure((await world.start([])).wallets.provision(newOwner(), contextOf()));
    expect(errors.length).to.be.greaterThan(5);

    const looked: readonly (readonly [name: string, text: string])[] = [
      ['the log of the process', logLines.join('\n')],
      ['an error', errors.join('\n')],
      ['the tables, events among them', await allTables()],
    ];
    for (const [name, text] of looked) {
      expect(text.length, name).to.be.greaterThan(500);
      for (const writing of secrets.flatMap(writingsOf)) {
        expect(text.includes(writing), `${name} holds a secret`).to.equal(false);
      }
    }
  });

  /** Every row of every table of ours, as text; bytes are in hexadecimal. */
  async function allTables(): Promise<string> {
    const { rows: tables } = await world.pool.query<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables
        where schemaname not in ('pg_catalog', 'information_schema')`,
    );
    expect(tables.map(({ name }) => name)).to.include.members(['records.wallets_sealed_keys', 'log.events']);
    const texts = await Promise.all(
      tables.map(async ({ name }) => {
        const { rows } = await world.pool.query<{ text: string }>(
          `select kept::text as text from ${name} as kept`,
        );
        return rows.map(({ text }) => text).join('\n');
      }),
    );
    return texts.join('\n');
  }
});
