/**
 * Reads answers from a keep-alive connection with no more work than it takes to find where one ends, because
 * the load generator shares its cores with what it measures. One request is in flight at a time.
 */

export interface AnswerReader {
  /** True if this chunk completed the answer. Throws on anything but HTTP/1.1 with a content length. */
  read(chunk: Buffer): boolean;
  /** The status of the answer just completed. */
  readonly status: number;
  /** The body of the answer just completed; empty unless bodies are kept or the status is unexpected. */
  readonly body: string;
}

const END_OF_HEAD = Buffer.from('\r\n\r\n');
const LENGTH_HEADER = Buffer.from('\r\nContent-Length: ');
const STATUS_OFFSET = 'HTTP/1.1 '.length;
const SPACE = 0x20;
const ZERO = 0x30;
const NINE = 0x39;

/** Bodies of answers with an unexpected status are always kept: they say what is wrong. */
export function createAnswerReader(keepsBodies: boolean): AnswerReader {
  let head: Buffer | undefined;
  let missingBytes = 0;
  let inBody = false;
  let status = 0;
  let parts: Buffer[] = [];

  function readHead(chunk: Buffer): Buffer | undefined {
    const bytes = head ? Buffer.concat([head, chunk]) : chunk;
    const end = bytes.indexOf(END_OF_HEAD);
    if (end < 0) {
      // The chunk's memory is reused for the next one.
      head = Buffer.from(bytes);
      return undefined;
    }
    head = undefined;
    status = statusOf(bytes);
    missingBytes = lengthOf(bytes, end);
    inBody = true;
    parts = [];
    return bytes.subarray(end + END_OF_HEAD.length);
  }

  return {
    read(chunk) {
      const rest = inBody ? chunk : readHead(chunk);
      if (!rest) return false;
      if (rest.length > missingBytes) throw new Error('An answer is longer than its content length.');
      if (keepsBodies || !isExpected(status)) parts.push(Buffer.from(rest));
      missingBytes -= rest.length;
      inBody = missingBytes > 0;
      return !inBody;
    },
    get status() {
      return status;
    },
    get body() {
      return Buffer.concat(parts).toString('utf8');
    },
  };
}

/** Most writes answer 200, those that open something 201. */
export const isExpected = (status: number): boolean => status === 200 || status === 201;

function statusOf(bytes: Buffer): number {
  if (bytes[STATUS_OFFSET - 1] !== SPACE || bytes[STATUS_OFFSET + 3] !== SPACE)
    throw new Error('This is not HTTP/1.1.');
  return numberAt(bytes, STATUS_OFFSET);
}

function lengthOf(bytes: Buffer, end: number): number {
  const found = bytes.indexOf(LENGTH_HEADER);
  if (found < 0 || found >= end) throw new Error('An answer has no content length.');
  return numberAt(bytes, found + LENGTH_HEADER.length);
}

function numberAt(bytes: Buffer, offset: number): number {
  let value = 0;
  for (let index = offset; ; index++) {
    const digit = bytes[index] ?? 0;
    if (digit < ZERO || digit > NINE) return value;
    value = value * 10 + digit - ZERO;
  }
}
