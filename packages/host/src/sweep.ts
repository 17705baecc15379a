/** Work that is done in the background once a minute, for as long as the process runs. */

const INTERVAL_MS = 60_000;

/** Returns what stops it, and waits for the sweep under way. */
export function sweepEveryMinute(
  sweep: () => Promise<void>,
  onFailure: (error: unknown) => void,
): () => Promise<void> {
  let underWay = Promise.resolve();
  const sweepNext = () => {
    underWay = underWay.then(sweep).catch(onFailure);
  };
  // Also at once: nobody knows for how long nothing ran.
  sweepNext();
  const timer = setInterval(sweepNext, INTERVAL_MS);
  timer.unref();
  return () => {
    clearInterval(timer);
    return underWay;
  };
}
