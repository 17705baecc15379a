/** The known name that an unknown one was probably meant to be; undefined if none is close. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  let nearest: string | undefined;
  // A third of a name may be wrong: beyond that it is a different name.
  let fewest = Math.floor(name.length / 3) + 1;
  for (const candidate of known) {
    const edits = editsBetween(name, candidate);
    if (edits >= fewest) continue;
    fewest = edits;
    nearest = candidate;
  }
  return nearest;
}

/** Letters to insert, delete and replace (Levenshtein). */
function editsBetween(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (const [index, letter] of [...left].entries()) {
    const next = [index + 1];
    for (const [column, other] of [...right].entries()) {
      const replaced = (row[column] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(replaced, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row[right.length] ?? 0;
}
