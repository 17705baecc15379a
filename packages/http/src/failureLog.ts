/** Logs a line for each request that was not served, within limits. */
import type { Logger } from 'pino';
import type { Failure } from './failure.ts';

export interface FailureLog {
  readonly failed: (failure: Failure, error: unknown, where: FailedRequest) => void;
  /** A rule said no: a search for the request id finds the answer given. */
  readonly refused: (refusal: Pick<Failure, 'status' | 'code'>, where: FailedRequest) => void;
  /** A streamed reply that ended in the middle. */
  readonly broken: (error: unknown, where: FailedRequest) => void;
}

interface FailedRequest {
  readonly requestId: string;
  /** Method and path template, because a real path may contain anything. */
  readonly route: string;
}

/** While the store is away every request fails the same way: one line per second and code is enough. */
const QUIET_MS = 1_000;
/** Per code, so that a flood of one does not hide others. */
const MAX_REFUSALS_PER_SECOND = 20;

interface Second {
  readonly endsMs: number;
  told: number;
  suppressed: number;
}

export function createFailureLog(logger: Logger, now: () => number = () => performance.now()): FailureLog {
  const quietUntilMs = new Map<string, number>();
  let suppressed = 0;
  const seconds = new Map<string, Second>();

  const refused: FailureLog['refused'] = ({ status, code }, where) => {
    const nowMs = now();
    let second = seconds.get(code);
    let missed: number | undefined;
    if (!second || nowMs >= second.endsMs) {
      missed = second?.suppressed || undefined;
      second = { endsMs: nowMs + 1_000, told: 0, suppressed: 0 };
      seconds.set(code, second);
    }
    if (second.told >= MAX_REFUSALS_PER_SECOND) {
      second.suppressed++;
      return;
    }
    second.told++;
    logger.info({ ...where, status, code, suppressed: missed }, 'A request was refused.');
  };

  return {
    refused,
    failed(failure, error, where) {
      if (failure.origin === 'refused' && failure.status < 500) return refused(failure, where);
      if (failure.origin === 'unexpected') {
        logger.error({ ...where, err: error }, 'A request failed unexpectedly.');
        return;
      }
      const nowMs = now();
      if (nowMs < (quietUntilMs.get(failure.code) ?? 0)) {
        suppressed++;
        return;
      }
      quietUntilMs.set(failure.code, nowMs + QUIET_MS);
      logger.warn({ ...where, code: failure.code, suppressed, err: error }, 'A request could not be served.');
      suppressed = 0;
    },
    broken(error, where) {
      logger.error({ ...where, err: error }, 'A streamed reply ended in the middle.');
    },
  };
}
