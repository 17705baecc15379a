/** Sockets on which a spec writes what no HTTP client would. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A connection on which a spec writes what no HTTP client would. */
export async function openSocket(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  // A reset is one of the ends a rude client may meet; what was received before it is what counts.
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

/** Everything the server says until it closes the connection. */
export async function readToEnd(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  if (!socket.closed) await once(socket, 'close');
  return Buffer.concat(chunks).toString();
}

/** What the server says up to and including the text. */
export async function readUntil(socket: Socket, text: string): Promise<string> {
  let received = '';
  while (!received.includes(text)) received += String((await once(socket, 'data'))[0]);
  return received;
}
