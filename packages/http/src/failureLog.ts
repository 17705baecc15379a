/** Which failures are worth a line. A refusal is an answer like any other: none. */
import type { Logger } from 'pino';
import type { Failure } from './failure.ts';

export interface FailureLog {
  readonly failed: (failure: Failure, error: unknown, where: FailedRequest) => void;
  /** A streamed reply that ended in the middle. */
  readonly broken: (error: unknown, where: FailedRequest) => void;
}

export interface FailedRequest {
  readonly requestId: string;
  /** Method and path template. */
  readonly route: string;
}

/** While the store is away every request fails the same way: one line a second and code says enough. */
const QUIET_MS = 1_000;

export function createFailureLog(logger: Logger): FailureLog {
  const quietUntilMs = new Map<string, number>();
  let suppressed = 0;

  return {
    failed(failure, error, where) {
      if (failure.origin === 'refused' && failure.status < 500) return;
      if (failure.origin === 'unexpected') {
        logger.error({ ...where, err: error }, 'A request failed unexpectedly.');
        return;
      }
      const nowMs = performance.now();
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
