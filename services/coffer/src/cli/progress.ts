/**
 * A long task's progress, for people: a bar on a terminal, otherwise an occasional line. It goes to standard
 * error, so that standard output holds only the result.
 */
import type { Writable } from 'node:stream';
import { type Options, SingleBar } from 'cli-progress';

export interface TaskProgress {
  /** What is being done, in a few words. */
  readonly stage: string;
  readonly done: number;
  /** Null if the total is unknown. */
  readonly of: number | null;
}

export interface ProgressDisplay {
  readonly show: (progress: TaskProgress) => void;
  /** Removes the bar. Until then, nothing else may be written to the terminal. */
  readonly end: () => void;
}

/** Between two lines of one stage, without a terminal. */
const LINE_INTERVAL_MS = 5_000;

export function displayProgress(stderr: Writable, nowMs = () => performance.now()): ProgressDisplay {
  return 'isTTY' in stderr && stderr.isTTY === true ? barOn(stderr) : linesOn(stderr, nowMs);
}

const BAR_WIDTH = 40;

const BAR: Options = {
  // Each of these would leave the terminal changed when the command is interrupted, or keep it from ending.
  gracefulExit: false,
  hideCursor: false,
  linewrap: true,
  clearOnComplete: true,
  format: (_options, _params, payload: TaskProgress) => `${barOf(payload)}${lineOf(payload)}`,
};

function barOn(terminal: Writable): ProgressDisplay {
  const bar = new SingleBar({ ...BAR, stream: terminal });
  let isStarted = false;
  return {
    show(progress) {
      const total = progress.of ?? 0;
      if (isStarted) bar.setTotal(total);
      else bar.start(total, progress.done, progress);
      isStarted = true;
      bar.update(progress.done, progress);
    },
    end: () => bar.stop(),
  };
}

function barOf({ done, of }: TaskProgress): string {
  if (!of) return '';
  const filled = Math.round(BAR_WIDTH * Math.min(done / of, 1));
  return `${'█'.repeat(filled)}${'░'.repeat(BAR_WIDTH - filled)} `;
}

function linesOn(stderr: Writable, nowMs: () => number): ProgressDisplay {
  let stage: string | undefined;
  let lastLineMs = 0;
  return {
    show(progress) {
      const now = nowMs();
      if (progress.stage === stage && now - lastLineMs < LINE_INTERVAL_MS) return;
      stage = progress.stage;
      lastLineMs = now;
      stderr.write(`${lineOf(progress)}\n`);
    },
    end() {},
  };
}

function lineOf({ stage, done, of }: TaskProgress): string {
  if (of === null) return `${stage}: ${done}`;
  const percent = of === 0 ? 100 : Math.floor((100 * Math.min(done, of)) / of);
  return `${stage}: ${done} of ${of} (${percent} %)`;
}
