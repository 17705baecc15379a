/** JSON lines for machines, readable ones on a terminal, without secrets. Source: contract, Apps, keys, currencies: secrets never enter the log. */
import { isatty } from 'node:tty';
import { type Logger, pino } from 'pino';
import { readableLine } from './readableLine.ts';
import { createRedactor } from './redact.ts';

export type { Logger } from 'pino';

interface LogDestination {
  write(line: string): unknown;
}

export interface LoggerOptions {
  readonly level: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';
  /** Default: standard output. */
  readonly destination?: LogDestination;
  /** Whether people read the output directly. Default: whether it is standard output on a terminal. */
  readonly isTerminal?: boolean;
  /** Exact secrets of this process that no pattern would match. */
  readonly secrets?: readonly string[];
}

/** Its number: a thread other than the main one has it by no other name. */
const STANDARD_OUTPUT = 1;

export function createLogger({
  level,
  destination,
  secrets = [],
  isTerminal = !destination && isatty(STANDARD_OUTPUT),
}: LoggerOptions): Logger {
  const sink = destination ?? pino.destination({ dest: STANDARD_OUTPUT, sync: true });
  const redact = createRedactor(secrets);
  const shown = isTerminal ? (line: string) => readableLine(redact(line)) : redact;
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: levelName } },
    { write: (line: string) => sink.write(shown(line)) },
  );
}

function levelName(label: string): { level: string } {
  return { level: label };
}
