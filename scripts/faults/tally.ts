/** What went wrong, by kind. Counted when it took effect, not when it was injected. */
export type Tally = ReturnType<typeof createTally>;

export function createTally() {
  const counts = new Map<string, number>();
  return {
    add: (kind: string) => void counts.set(kind, (counts.get(kind) ?? 0) + 1),
    total: () => [...counts.values()].reduce((sum, count) => sum + count, 0),
    rows: (): readonly (readonly [string, number])[] =>
      [...counts].sort(([one], [other]) => one.localeCompare(other)),
  };
}
