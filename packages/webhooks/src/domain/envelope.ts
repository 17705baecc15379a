/**
 * The bytes that are sent and signed. The text is stored once per event; only the number of the event before it depends
 * on the subscription.
 */
export function envelopeBytes(body: string, previousSequence: number | null): Buffer {
  if (!body.endsWith('}')) throw new Error('The text of an event is not an object.');
  return Buffer.from(`${body.slice(0, -1)},"previousSequence":${previousSequence}}`);
}
