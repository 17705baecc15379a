/** A run as one HTML page that needs nothing else: plots as SVG, below them the report as text. */
import type { EChartsOption, ScatterSeriesOption } from 'echarts';
import { BarChart, LineChart, ScatterChart } from 'echarts/charts';
import { GridComponent, LegendComponent, MarkLineComponent } from 'echarts/components';
import { init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import type { Verdict } from './bars.ts';
import { ROUTE_WORDS } from './measuredRows.ts';
import type { BenchResult } from './report.ts';
import { textOf } from './reportText.ts';

use([BarChart, LineChart, ScatterChart, GridComponent, LegendComponent, MarkLineComponent, SVGRenderer]);

interface Plot {
  readonly title: string;
  readonly svg: string;
}

const WIDTH_PX = 900;
const LINE_PX = 28;
/** For axes and the legend. */
const FRAME_PX = 110;
const LEGEND = { bottom: 0, itemGap: 28 };
const GRID = { left: 60, right: 60, top: 30, bottom: 60, outerBoundsMode: 'none' as const };
/** How wide a text is, only the browser knows: enough for the longest. */
const BESIDE_NAMES = { ...GRID, left: 340 };
const PASSED = '#2b7a4b';
const MISSED = '#b3261e';

export function pageOf(result: BenchResult): string {
  const plots = [
    ...barsPlot(result.verdicts),
    ...ratePlot(result.routes),
    ...openLoopPlot(result.openLoop),
    ...processorPlot(result.routes),
    ...soakPlot(result.soak),
  ];
  const title = `Bench of ${result.machine.commit}: ${result.passed ? 'passed' : 'not passed'}`;
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>${escaped(title)}</title>
<style>
  body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: ${WIDTH_PX}px; background: #fff; color: #222 }
  h2 { font-size: 1.1em; margin: 2em 0 0 }
  svg { max-width: 100%; height: auto }
  pre { overflow-x: auto; font-size: 12px }
</style>
<h1>${escaped(title)}</h1>
${plots.map((plot) => `<h2>${escaped(plot.title)}</h2>\n${plot.svg}`).join('\n')}
<h2>The whole report</h2>
<pre>${escaped(textOf(result))}</pre>
</html>
`;
}

/** As a share of the limit, turned so that more is always better: bars of all units on one axis. */
function barsPlot(verdicts: readonly Verdict[]): readonly Plot[] {
  if (verdicts.length === 0) return [];
  const shareOf = ({ better, bound }: Verdict, value: number) =>
    better === 'more' ? value / bound : bound / value;
  const dots = (passed: boolean): ScatterSeriesOption[] => {
    const color = passed ? PASSED : MISSED;
    const chosen = [...verdicts.entries()].filter(([, verdict]) => verdict.passed === passed);
    const rounds = chosen.flatMap(([index, verdict]) =>
      verdict.rounds.map((value) => [shareOf(verdict, value), index]),
    );
    const medians = chosen.map(([index, verdict]) => [shareOf(verdict, verdict.value), index]);
    const name = passed ? 'passed' : 'missed';
    return [
      { type: 'scatter', name, symbol: 'diamond', symbolSize: 14, color, data: medians },
      { type: 'scatter', symbolSize: 6, color, itemStyle: { opacity: 0.5 }, data: rounds },
    ];
  };
  const limit: ScatterSeriesOption = {
    type: 'scatter',
    data: [],
    markLine: {
      symbol: 'none',
      lineStyle: { color: '#222', type: 'solid' },
      label: { formatter: 'limit', position: 'start' },
      data: [{ xAxis: 1 }],
    },
  };
  return [
    {
      title: 'Bars: rounds (dots) and medians (diamonds) against the limit; right of it passes',
      svg: svgOf(lineCount(verdicts.length), {
        legend: { ...LEGEND, data: ['passed', 'missed'] },
        grid: BESIDE_NAMES,
        xAxis: { type: 'log', logBase: 2, name: 'times the limit', nameLocation: 'middle', nameGap: 28 },
        yAxis: categories(verdicts.map(({ name, passed }) => (passed ? name : `${name} (missed)`))),
        series: [...dots(true), ...dots(false), limit],
      }),
    },
  ];
}

const nameOf = ({ route, connections }: BenchResult['routes'][number]) =>
  `${ROUTE_WORDS[route]}, ${connections}`;

function ratePlot(routes: BenchResult['routes']): readonly Plot[] {
  if (routes.length === 0) return [];
  const rates = routes.map(({ requestsPerSecond, betsPerSecond }) => betsPerSecond ?? requestsPerSecond);
  return [
    {
      title: 'Bets a second, or requests where there are none, by route and connections',
      svg: svgOf(lineCount(routes.length), {
        grid: BESIDE_NAMES,
        xAxis: { type: 'value' },
        yAxis: categories(routes.map(nameOf)),
        series: [
          { type: 'bar', data: rates.map(Math.round), label: { show: true, position: 'insideRight' } },
        ],
      }),
    },
  ];
}

function openLoopPlot(lines: BenchResult['openLoop']): readonly Plot[] {
  if (lines.length === 0) return [];
  const sorted = lines.toSorted((left, right) => left.perSecond - right.perSecond);
  const series = [
    ['p50', sorted.map(({ p50Ms }) => p50Ms)],
    ['p99', sorted.map(({ p99Ms }) => p99Ms)],
    ['p99.9', sorted.map(({ p999Ms }) => p999Ms)],
    ['p99 of bare durable inserts', sorted.map(({ bareP99Ms }) => bareP99Ms)],
  ] as const;
  return [
    {
      title: 'Latency at fixed rates, from the time at which each bet was due',
      svg: svgOf(400, {
        legend: LEGEND,
        xAxis: {
          type: 'category',
          data: sorted.map(({ perSecond }) => `${perSecond.toLocaleString('en-US')}/s`),
        },
        yAxis: { type: 'log', name: 'ms' },
        series: series.map(([name, data]) => ({ type: 'line', name, data: [...data] })),
      }),
    },
  ];
}

function processorPlot(routes: BenchResult['routes']): readonly Plot[] {
  const told = routes.filter(({ spentUs }) => Object.keys(spentUs).length > 0);
  if (told.length === 0) return [];
  const spent = told.map(spentByPart);
  const parts = [...new Set(spent.flatMap((one) => [...one.keys()]))];
  return [
    {
      title: 'Processor time of a bet (of a request where there are none) in microseconds, by route',
      svg: svgOf(lineCount(told.length), {
        legend: LEGEND,
        grid: BESIDE_NAMES,
        xAxis: { type: 'value', name: 'µs', nameLocation: 'end' },
        yAxis: categories(told.map(nameOf)),
        series: parts.map((name) => ({
          type: 'bar',
          stack: 'spent',
          name,
          data: spent.map((one) => Number((one.get(name) ?? 0).toFixed(1))),
        })),
      }),
    },
  ];
}

/** The numbers of PostgreSQL's backends say nothing from one run to the next. */
function spentByPart(row: BenchResult['routes'][number]): ReadonlyMap<string, number> {
  const betsPerRequest = row.betsPerSecond === null ? 1 : row.betsPerSecond / row.requestsPerSecond;
  const spent = new Map<string, number>();
  for (const [what, us] of Object.entries(row.spentUs)) {
    const part = what.startsWith('PostgreSQL backend') ? 'PostgreSQL, backends' : what;
    spent.set(part, (spent.get(part) ?? 0) + us / betsPerRequest);
  }
  return spent;
}

/** The first minute warms up. */
function soakPlot(minutes: BenchResult['soak']): readonly Plot[] {
  const second = minutes[1];
  if (!second) return [];
  const figures = [
    ['bets/s', ({ perSecond }: typeof second) => perSecond],
    ['p99', ({ p99Ms }: typeof second) => p99Ms],
    ['memory', ({ residentMiB }: typeof second) => residentMiB ?? Number.NaN],
  ] as const;
  return [
    {
      title: 'Soak: each minute as a share of the second',
      svg: svgOf(400, {
        legend: LEGEND,
        xAxis: { type: 'category', data: minutes.map((_, index) => String(index + 1)) },
        yAxis: { type: 'value' },
        series: figures.map(([name, of]) => ({
          type: 'line',
          name,
          // What was not measured leaves a gap.
          data: minutes.map((minute) => of(minute) / of(second)),
        })),
      }),
    },
  ];
}

const lineCount = (lines: number) => lines * LINE_PX + FRAME_PX;

/** In the order of the report, from the top. */
const categories = (names: readonly string[]): NonNullable<EChartsOption['yAxis']> => ({
  type: 'category',
  inverse: true,
  data: [...names],
});

function svgOf(height: number, option: EChartsOption): string {
  const chart = init(null, null, { renderer: 'svg', ssr: true, width: WIDTH_PX, height });
  chart.setOption({ animation: false, grid: GRID, ...option });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return svg;
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
