/** The lines of a text that arrives in chunks of bytes, one at a time, with any defects. */
import { TextDecoder } from 'node:util';

/** No line of an export is longer: an append has at most 1 MiB, which it may hold twice, escaped. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;
const LINE_FEED = 10;

export interface TextLine {
  /** From 1. */
  readonly number: number;
  /** Undefined where the bytes are no line of text. */
  readonly text: string | undefined;
  readonly trouble: string | undefined;
}

/** A line with trouble is the last one. */
export async function* textLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<TextLine> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let pieces: Uint8Array[] = [];
  let bytes = 0;
  let number = 1;
  const trouble = (text: string): TextLine => ({ number, text: undefined, trouble: text });

  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      const line = Buffer.concat([...pieces, chunk.subarray(start, end)]);
      pieces = [];
      bytes = 0;
      start = end + 1;
      const text = decoded(decoder, line);
      if (text === undefined) return yield trouble('it is not UTF-8');
      yield { number, text, trouble: undefined };
      number += 1;
    }
    if (start < chunk.length) pieces.push(chunk.subarray(start));
    bytes += chunk.length - start;
    if (bytes > MAX_LINE_BYTES) return yield trouble(`it has more than ${MAX_LINE_BYTES} bytes`);
  }
  if (bytes > 0) yield trouble('it is cut off: the last line does not end');
}

function decoded(decoder: TextDecoder, bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}
