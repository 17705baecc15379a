/**
 * The books of an app and the funds of a player, now and at earlier moments. Source: contract, Money model; The command
 * line.
 */

import { requireStatus, textOf, verdict } from '@coffer/host/testing';
import { useLedger } from '@coffer/ledger/testing';
import { expect } from 'chai';

describe('The totals of an app', () => {
  const ledger = useLedger();

  const path = (at?: string) => {
    const query = at === undefined ? '' : `?at=${encodeURIComponent(at)}`;
    return `/portal/app/${ledger.app.appId}/test/totals${query}`;
  };
  const totalsAt = async (at?: string) => {
    const { json } = requireStatus(await ledger.client.get(path(at)), 200);
    const items = json.items as readonly Readonly<Record<string, string>>[];
    return { ordinal: json.ordinal, chip: items.find(({ currency }) => currency === 'CHIP') };
  };
  const fundsAt = (userId: string, at: string) =>
    ledger.client.get(
      `/portal/app/${ledger.app.appId}/test/users/${userId}/accounts?currency=CHIP&at=${encodeURIComponent(at)}`,
    );
  /** The end of the log, as an auditor knows it. */
  const end = async () => {
    const lines = await ledger.client.lines('/portal/log');
    return { ordinal: lines.length, position: String(lines.at(-1)?.position) };
  };

  it('are available for any ordinal, position or time, and sum to zero', async () => {
    const { test } = ledger;
    const userId = await test.newPlayer('100');
    const credited = await end();
    const atCredit = new Date().toISOString();
    const opened = requireStatus(await test.openSession({ userId, lockAmount: '60' }), 201);
    const held = await end();
    const sessionId = textOf(opened, 'sessionId');
    requireStatus(await test.bet({ sessionId, amount: '45' }), 200);
    requireStatus(await test.settle({ sessionId }), 200);
    const settled = await end();

    const zero = { currency: 'CHIP', pools: '0', referrals: '0', external: '0', adjustments: '-100' };
    type Figures = Readonly<Record<'available' | 'held' | 'house', string>>;
    const rows: readonly [moments: readonly string[], place: typeof settled, figures: Figures][] = [
      [[atCredit], credited, { available: '100', held: '0', house: '0' }],
      [[], held, { available: '40', held: '60', house: '0' }],
      [[new Date().toISOString()], settled, { available: '55', held: '0', house: '45' }],
    ];
    for (const [times, place, figures] of rows) {
      for (const at of [String(place.ordinal), place.position, ...times]) {
        const { ordinal, chip } = await totalsAt(at);
        expect(ordinal, at).to.equal(place.ordinal);
        expect(chip, at).to.deep.equal({ ...zero, ...figures });
        const sum = Object.entries(chip ?? {}).reduce(
          (total, [name, figure]) => (name === 'currency' ? total : total + BigInt(figure)),
          0n,
        );
        expect(sum).to.equal(0n);

        const { available, held: ofPlayer } = figures;
        const funds = requireStatus(await fundsAt(userId, at), 200).json;
        expect(funds, at).to.deep.equal({ available, held: ofPlayer, ...place });
      }
    }
    const now = await totalsAt();
    expect(now.chip).to.deep.equal((await totalsAt(String(now.ordinal))).chip);
  });

  it('are refused for moments before the log began or past its end, and for nonsense', async () => {
    const userId = await ledger.test.newPlayer('1');
    const { ordinal, position } = await end();
    const isOfBytes = position.includes('/');
    const rows: readonly [at: string, reason: RegExp][] = [
      ['0', /before the first event/],
      ['2000-01-01T00:00:00Z', /before the first event/],
      [String(ordinal + 1), new RegExp(`beyond the end of the log, which has ${ordinal} events`)],
      ['999999999999999', /beyond the end/],
      [new Date(Date.now() + 60_000).toISOString(), /in the future/],
      ['2026-13-45', /a time that exists/],
      ['soon', /a position as this log writes them/],
      [isOfBytes ? '1/x' : '1/1', /a position as this log writes them/],
      [isOfBytes ? '999999999/999999999' : '9999999999999999', /the position of an event of this log/],
      ['x'.repeat(65), /64/],
    ];
    for (const [at, reason] of rows) {
      for (const answer of [await ledger.client.get(path(at)), await fundsAt(userId, at)]) {
        expect(verdict(answer), at).to.equal('400 request/invalid');
        expect(JSON.stringify(answer.json.details), at).to.match(reason);
      }
    }
    expect(verdict(await ledger.client.get(`/portal/app/${ledger.app.appId}/beta/totals`))).to.equal(
      '404 portal/environment_not_found',
    );
  });

  it('come from a log that accepts positions only in the form it writes them', async () => {
    for (const list of ['/portal/log', '/portal/streams']) {
      for (const after of ['soon', '-1', '1/', '1/2/3', '9'.repeat(20)]) {
        const answer = await ledger.client.get(`${list}?after=${after}`);
        expect(verdict(answer), after).to.equal('400 request/invalid');
      }
    }
  });
});
