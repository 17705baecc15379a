/** JSON lines for machines, without secrets. Source: contract, Apps, keys, currencies: secrets never enter the log. */
import { type Logger, pino } from 'pino';
import { createRedactor } from './redact.ts';

export type { Logger } from 'pino';

export interface LogDestination {
  write(line: string): unknown;
}

export interface LoggerOptions {
  readonly level: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';
  /** Default: standard output. */
  readonly destination?: LogDestination;
  /** Exact secrets of this process that no pattern would find. */
  readonly secrets?: readonly string[];
}

export function createLogger({ level, destination, secrets = [] }: LoggerOptions): Logger {
  const sink = destination ?? pino.destination({ dest: 1, sync: true });
  const redact = createRedactor(secrets);
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: levelName } },
    { write: (line: string) => sink.write(redact(line)) },
  );
}

function levelName(label: string): { level: string } {
  return { level: label };
}
