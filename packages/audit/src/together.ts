/** Streams read at a time: the store's other readers need their turn, too. */
const READ_AT_ONCE = 4;

/** A few at a time, in any order. Empties the list: nothing is kept for longer than its work takes. */
export async function together<Item>(
  items: Item[],
  work: (item: Item) => Promise<void>,
  atOnce = READ_AT_ONCE,
): Promise<void> {
  const worker = async () => {
    for (let item = items.pop(); item !== undefined; item = items.pop()) await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}
