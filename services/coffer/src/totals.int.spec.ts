/** The books of an app, now and as they were. Source: contract, Money model; The command line. */
import { expect } from 'chai';
import { requireStatus, textOf } from './testing/client.ts';
import { useLedger, verdict } from './testing/ledger.ts';

describe('The totals of an app', () => {
  const ledger = useLedger();

  const totalsAt = async (at?: string) => {
    const query = at === undefined ? '' : `?at=${encodeURIComponent(at)}`;
    const { appId } = ledger.app;
    const { json } = requireStatus(await ledger.client.get(`/portal/app/${appId}/test/totals${query}`), 200);
    const items = json.items as readonly Readonly<Record<string, string>>[];
    return { ordinal: json.ordinal, chip: items.find(({ currency }) => currency === 'CHIP') };
  };
  const lastPosition = async () => String((await ledger.client.lines('/portal/log')).at(-1)?.position);

  it('are those of any position and any time, and sum to zero', async () => {
    const { test } = ledger;
    const userId = await test.newPlayer('100');
    const credited = await lastPosition();
    const atCredit = new Date().toISOString();
    const opened = requireStatus(await test.openSession({ userId, lockAmount: '60' }), 201);
    const held = await lastPosition();
    const sessionId = textOf(opened, 'sessionId');
    requireStatus(await test.bet({ sessionId, amount: '45' }), 200);
    requireStatus(await test.settle({ sessionId }), 200);

    const zero = { currency: 'CHIP', pools: '0', referrals: '0', external: '0', adjustments: '-100' };
    const rows: readonly [at: string | undefined, figures: Readonly<Record<string, string>>][] = [
      [credited, { available: '100', held: '0', house: '0' }],
      [atCredit, { available: '100', held: '0', house: '0' }],
      [held, { available: '40', held: '60', house: '0' }],
      [await lastPosition(), { available: '55', held: '0', house: '45' }],
      [new Date(Date.now() + 60_000).toISOString(), { available: '55', held: '0', house: '45' }],
    ];
    for (const [at, figures] of rows) {
      const { chip } = await totalsAt(at);
      expect(chip, at).to.deep.equal({ ...zero, ...figures });
      const sum = Object.entries(chip ?? {}).reduce(
        (total, [name, figure]) => (name === 'currency' ? total : total + BigInt(figure)),
        0n,
      );
      expect(sum).to.equal(0n);
    }
    expect((await totalsAt(held)).ordinal).to.equal(Number(held));
    const now = await totalsAt();
    expect(now.chip).to.deep.equal((await totalsAt(String(now.ordinal))).chip);
  });

  it('were nothing before everything, and are asked for by no nonsense', async () => {
    expect((await totalsAt('2000-01-01T00:00:00Z')).chip).to.include({ available: '0', adjustments: '0' });
    expect((await totalsAt('0')).ordinal).to.equal(0);
    const { appId } = ledger.app;
    for (const at of ['soon', '2026-13-45', 'x'.repeat(65)]) {
      const answer = await ledger.client.get(`/portal/app/${appId}/test/totals?at=${at}`);
      expect(verdict(answer), at).to.equal('400 request/invalid');
    }
    expect(verdict(await ledger.client.get(`/portal/app/${appId}/beta/totals`))).to.equal(
      '404 portal/environment_not_found',
    );
  });
});
