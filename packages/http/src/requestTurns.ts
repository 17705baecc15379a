/**
 * Of requests that arrive together, few begin in one turn of the event loop: what else is due does not wait for all of them, the
 * database gets the appends of the first ones while the others begin, and what is in hand fits into the processor's cache. ADR 0080.
 */

const MOST_A_TURN = 64;
/** Of those that wait, at least this share begins in a turn: more arriving each turn than may begin would pile up. */
const LEAST_SHARE = 1 / 4;

/** `begin`, at once or in one of the next turns. They begin in the order of the calls. */
export function fewInATurn<Request extends readonly unknown[]>(
  begin: (...request: Request) => void,
): (...request: Request) => void {
  const waiting: Request[] = [];
  let begun = 0;
  let turnEnds = false;

  function endTurn(): void {
    const count = Math.max(MOST_A_TURN, Math.ceil(waiting.length * LEAST_SHARE));
    const next = waiting.splice(0, count);
    begun = next.length;
    turnEnds = begun > 0;
    if (!turnEnds) return;
    setImmediate(endTurn);
    for (const request of next) begin(...request);
  }

  return (...request) => {
    if (!turnEnds) {
      turnEnds = true;
      setImmediate(endTurn);
    }
    if (begun >= MOST_A_TURN || waiting.length > 0) {
      waiting.push(request);
      return;
    }
    begun += 1;
    begin(...request);
  };
}
