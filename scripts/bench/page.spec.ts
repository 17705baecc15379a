import { expect } from 'chai';
import { judge } from './bars.ts';
import { pageOf } from './page.ts';
import type { BenchResult } from './report.ts';
import { resultOfParts } from './testing/resultOfParts.ts';

const nothing = resultOfParts({});

const bets = (connections: number): BenchResult['routes'][number] => ({
  route: 'bet',
  connections,
  requestsPerSecond: 9_000,
  betsPerSecond: 9_000,
  p50Ms: 6,
  p99Ms: 20,
  loopDelayP99Ms: 5,
  spentUs: { 'service, main thread': 50, 'PostgreSQL backend 17': 14, 'PostgreSQL backend 18': 4 },
});

const atRate = (perSecond: number): BenchResult['openLoop'][number] => ({
  perSecond,
  p50Ms: 2,
  p99Ms: 9,
  p999Ms: 12,
  bareP99Ms: 4,
  lateP99Ms: 1,
});

const minute = (p99Ms: number): BenchResult['soak'][number] => ({
  perSecond: 1_000,
  p99Ms,
  lateP99Ms: 1,
  liveBets: 60_000,
  residentMiB: undefined,
});

const plotsIn = (page: string) => page.split('<svg').slice(1);

describe('the page of a run', () => {
  it('has a plot of each part that was measured', () => {
    expect(plotsIn(pageOf(nothing))).to.have.length(0);
    const page = pageOf({
      ...nothing,
      verdicts: [judge('betAt64', [0.9])],
      routes: [bets(64), bets(256)],
      openLoop: [atRate(500), atRate(4_000)],
      soak: [minute(9), minute(10), minute(11)],
    });
    expect(plotsIn(page)).to.have.length(5);
  });

  it('shows every round of a bar, and names those missed', () => {
    const page = pageOf({
      ...nothing,
      verdicts: [judge('betAt64', [0.9, 0.95, 1]), judge('openLoopP99', [30, 31, 32])],
    });
    const [plot = ''] = plotsIn(page);
    expect(plot).to.include('bet, 64 / 256 connections<').and.include('p99 at half of the most (missed)<');
    const [green, red] = ['#2b7a4b', '#b3261e'].map((color) => plot.split(`fill="${color}"`).length - 1);
    // Three rounds, the median, and a sign in the legend.
    expect([green, red]).to.deep.equal([5, 5]);
  });

  it('has the rates of the open loop in their order', () => {
    const [plot = ''] = plotsIn(pageOf({ ...nothing, openLoop: [atRate(4_000), atRate(3_500)] }));
    expect(plot.indexOf('3,500/s')).to.be.within(0, plot.indexOf('4,000/s'));
  });

  it('adds up the backends of PostgreSQL', () => {
    const page = pageOf({ ...nothing, routes: [bets(64)] });
    const [, plot = ''] = plotsIn(page);
    expect(plot).to.include('PostgreSQL, backends').and.not.include('backend 17');
  });

  it('leaves out what could not be measured in a soak', () => {
    const [plot = ''] = plotsIn(pageOf({ ...nothing, soak: [minute(9), minute(10), minute(11)] }));
    expect(plot).to.include('memory').and.not.include('NaN');
  });

  it('needs nothing from elsewhere, and shows texts as texts', () => {
    const page = pageOf({ ...nothing, routes: [bets(64)] });
    expect(page).not.to.match(/<script|<link|<img|src=|url\(|@import/);
    expect(page).to.include('a processor of &lt;Company&gt;').and.not.include('<Company>');
  });
});
