/**
 * Of requests that arrive together, few begin in one turn of the event loop: what else is due does not wait for all of them, the
 * database gets the appends of the first ones while the others begin, and what is in hand fits into the processor's cache. ADR 0080.
 */

const MOST_A_TURN = 64;
/** Of those that wait, at least this share begins in a turn: more arriving each turn than may begin would pile up. */
const LEAST_SHARE = 1 / 4;

/** Of those that waited for their turn, on the clock of `performance.now()`. */
const arrivals = new WeakMap<object, number>();

/** When it arrived. A request that begins at once, as most do, arrives now. */
export const arrivedMs = (request: object): number => arrivals.get(request) ?? performance.now();

/** `begin`, at once or in one of the next turns. They begin in the order of the calls. */
export function fewInATurn<Request extends object, Response>(
  begin: (request: Request, response: Response) => void,
): (request: Request, response: Response) => void {
  const waiting: (readonly [Request, Response])[] = [];
  let begun = 0;
  let isEndDue = false;

  function endTurn(): void {
    const count = Math.max(MOST_A_TURN, Math.ceil(waiting.length * LEAST_SHARE));
    const next = waiting.splice(0, count);
    begun = next.length;
    isEndDue = begun > 0;
    if (!isEndDue) return;
    setImmediate(endTurn);
    for (const [request, response] of next) begin(request, response);
  }

  return (request, response) => {
    if (!isEndDue) {
      isEndDue = true;
      setImmediate(endTurn);
    }
    if (begun >= MOST_A_TURN) {
      arrivals.set(request, performance.now());
      waiting.push([request, response]);
      return;
    }
    begun += 1;
    begin(request, response);
  };
}
