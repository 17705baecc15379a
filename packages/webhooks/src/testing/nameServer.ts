/** A name server that knows some names, and is silent about all others. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';

export interface NameServer {
  readonly address: string;
  /** Each name once, in the order in which they were first asked for. */
  readonly asked: ReadonlySet<string>;
  readonly close: () => void;
}

type Addresses = { readonly ipv4?: readonly string[]; readonly ipv6?: readonly string[] };

const HEADER_BYTES = 12;
const TYPE_A = 1;
const TYPE_AAAA = 28;

/** IPv6 addresses are given in full. */
export async function startNameServer(names: Readonly<Record<string, Addresses>> = {}): Promise<NameServer> {
  const asked = new Set<string>();
  const socket = createSocket('udp4');
  socket.on('message', (message, { address, port }) => {
    const { name, type, question } = questionOf(message);
    asked.add(name);
    const known = names[name];
    if (known) socket.send(answerTo(message, question, recordsOf(known, type)), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return { address: `127.0.0.1:${socket.address().port}`, asked, close: () => socket.close() };
}

function questionOf(message: Buffer): { name: string; type: number; question: Buffer } {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let length = message.readUInt8(at); length > 0; length = message.readUInt8(at)) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return {
    name: labels.join('.'),
    type: message.readUInt16BE(at + 1),
    question: message.subarray(HEADER_BYTES, at + 5),
  };
}

function recordsOf({ ipv4 = [], ipv6 = [] }: Addresses, type: number): readonly Buffer[] {
  if (type === TYPE_A)
    return ipv4.map((address) => recordOf(type, Buffer.from(address.split('.').map(Number))));
  if (type === TYPE_AAAA)
    return ipv6.map((address) => recordOf(type, Buffer.from(address.replaceAll(':', ''), 'hex')));
  return [];
}

function recordOf(type: number, data: Buffer): Buffer {
  // The name of the question, class IN, not to be kept.
  const head = Buffer.from([0xc0, HEADER_BYTES, 0, type, 0, 1, 0, 0, 0, 0, 0, data.length]);
  return Buffer.concat([head, data]);
}

function answerTo(message: Buffer, question: Buffer, records: readonly Buffer[]): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  message.copy(header, 0, 0, 2);
  // An answer, by a server that asks others.
  header.writeUInt16BE(0x8180, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  return Buffer.concat([header, question, ...records]);
}
