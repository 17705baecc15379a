/** Runs many of the same, a few at a time. */
const REQUESTS_IN_FLIGHT = 32;

export async function inParallel<Value>(
  count: number,
  work: (index: number) => Promise<Value>,
): Promise<readonly Value[]> {
  const values: Value[] = new Array(count);
  let next = 0;
  const worker = async () => {
    while (next < count) {
      const index = next++;
      values[index] = await work(index);
    }
  };
  await Promise.all(Array.from({ length: Math.min(count, REQUESTS_IN_FLIGHT) }, worker));
  return values;
}
