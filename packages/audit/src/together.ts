/** Streams read at a time: the store's other readers need their turn, too. */
const READ_AT_ONCE = 4;

/** A few at a time, in any order. */
export async function together<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
  atOnce = READ_AT_ONCE,
): Promise<void> {
  const left = [...items];
  const worker = async () => {
    for (let item = left.pop(); item !== undefined; item = left.pop()) await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}
