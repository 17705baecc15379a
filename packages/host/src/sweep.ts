/** Background work, done once a minute while the process runs. */

const INTERVAL_MS = 60_000;

/** Returns a function that stops it and waits for the sweep under way. */
export function sweepEveryMinute(
  sweep: () => Promise<void>,
  onFailure: (error: unknown) => void,
): () => Promise<void> {
  let underWay = Promise.resolve();
  const sweepNext = () => {
    underWay = underWay.then(sweep).catch(onFailure);
  };
  // Also immediately: nothing may have run for a long time.
  sweepNext();
  const timer = setInterval(sweepNext, INTERVAL_MS);
  timer.unref();
  return () => {
    clearInterval(timer);
    return underWay;
  };
}
