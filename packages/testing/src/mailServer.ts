/** A mail server on this machine that keeps what it receives. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';

export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  readonly raw: string;
}

export interface MailServer {
  /** `smtp://`, with the login if there is one. */
  readonly url: string;
  /** Mails not handed out yet. */
  readonly mails: readonly ReceivedMail[];
  /** From then on it refuses mail with this text and the address; undefined: it accepts mail again. */
  readonly refuseWith: (text: string | undefined) => void;
  readonly untilRefused: () => Promise<void>;
  /** The next mail for the address that was not handed out before. */
  readonly next: (address: string) => Promise<ReceivedMail>;
  readonly stop: () => Promise<void>;
}

export interface MailServerOptions {
  /** Default: any free one. */
  readonly port?: number;
  /** If given, nobody sends without it. */
  readonly login?: { readonly user: string; readonly password: string };
}

export async function startMailServer({ port = 0, login }: MailServerOptions = {}): Promise<MailServer> {
  const mails: ReceivedMail[] = [];
  let refusal: string | undefined;
  let refused = 0;
  let changed = () => {};
  const server = new SMTPServer({
    authOptional: login === undefined,
    allowInsecureAuth: true,
    disabledCommands: login ? ['STARTTLS'] : ['STARTTLS', 'AUTH'],
    logger: false,
    // Clients keep a connection open for their next mail; without this a stop would wait for them.
    closeTimeout: 1,
    onAuth: ({ username, password }, _session, callback) => {
      if (username === login?.user && password === login?.password) return callback(null, { user: username });
      refused += 1;
      changed();
      return callback(new Error(`Not with this password: ${username} ${password}`));
    },
    onRcptTo: ({ address }, _session, callback) => {
      if (refusal === undefined) return callback();
      refused += 1;
      changed();
      return callback(Object.assign(new Error(`${refusal} <${address}>`), { responseCode: 451 }));
    },
    onData: (stream, { envelope }, callback) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const from = envelope.mailFrom ? envelope.mailFrom.address : '';
        const to = envelope.rcptTo.map(({ address }) => address);
        mails.push({ from, to, raw: Buffer.concat(chunks).toString() });
        callback();
        changed();
      });
    },
  });
  const listening = server.listen(port, '127.0.0.1');
  await once(listening, 'listening');
  const address = listening.address() as AddressInfo; // It listens on TCP.
  const credentials = login ? `${encodeURIComponent(login.user)}:${encodeURIComponent(login.password)}@` : '';

  const until = async (isSo: () => boolean) => {
    while (!isSo()) {
      await new Promise<void>((resolve) => {
        changed = resolve;
      });
    }
  };
  return {
    url: `smtp://${credentials}127.0.0.1:${address.port}`,
    mails,
    refuseWith: (text) => {
      refusal = text;
    },
    untilRefused: async () => {
      const before = refused;
      await until(() => refused > before);
    },
    next: async (wanted) => {
      const isWanted = ({ to }: ReceivedMail) => to.includes(wanted);
      await until(() => mails.some(isWanted));
      const [mail] = mails.splice(mails.findIndex(isWanted), 1);
      if (!mail) throw new Error('It was there a moment ago.');
      return mail;
    },
    stop: () => new Promise<void>((resolve) => server.close(resolve)),
  };
}

/** The one-time code in one of our mails. */
export function codeIn({ raw }: ReceivedMail): string {
  return /^ {4}(\d{6})\r?$/m.exec(raw)?.[1] ?? 'no code';
}
