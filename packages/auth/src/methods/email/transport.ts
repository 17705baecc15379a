/** Where mail goes: to an SMTP server, or into files on a developer's own machine. */
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface Mail {
  /** Identifies the mail, not the attempt: it becomes the Message-ID, which reveals repeats. */
  readonly id: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly date: Date;
}

export interface MailTransport {
  /** Throws if the mail was not accepted. */
  readonly send: (mail: Mail) => Promise<void>;
  readonly close: () => void;
}

/** A failure without the server's own words, which repeat addresses; this one is logged. */
class MailFailure extends Error {
  override readonly name = 'MailFailure';
}

const CONNECT_TIMEOUT_MS = 10_000;
const SILENCE_TIMEOUT_MS = 15_000;
const MAX_CONNECTIONS = 5;

const NO_ATTACHMENTS = { disableFileAccess: true, disableUrlAccess: true } as const;

/** `url`: `smtp://` (with STARTTLS where the server offers it; `?requireTLS=true` insists) or `smtps://`. */
export function smtpTransport({ url, from }: { readonly url: string; readonly from: string }): MailTransport {
  const transport = fromFirstMailOn(({ createTransport }) =>
    createTransport(
      {
        url,
        pool: true,
        maxConnections: MAX_CONNECTIONS,
        connectionTimeout: CONNECT_TIMEOUT_MS,
        greetingTimeout: CONNECT_TIMEOUT_MS,
        socketTimeout: SILENCE_TIMEOUT_MS,
        ...NO_ATTACHMENTS,
      },
      { from },
    ),
  );
  return {
    send: async (mail) => {
      const opened = await transport.open();
      try {
        await opened.sendMail(messageOf(mail));
      } catch (error) {
        throw new MailFailure(`The mail server did not take a mail (${reasonOf(error)}).`);
      }
    },
    close: transport.close,
  };
}

/** One `.eml` file per mail, readable by its owner only; names sort by time. */
export function fileTransport({
  folder,
  from,
}: {
  readonly folder: string;
  readonly from: string;
}): MailTransport {
  const composer = fromFirstMailOn(({ createTransport }) =>
    createTransport({ streamTransport: true, buffer: true, newline: 'windows', ...NO_ATTACHMENTS }, { from }),
  );
  return {
    send: async (mail) => {
      const opened = await composer.open();
      const { message } = await opened.sendMail(messageOf(mail));
      const name = `${mail.date.toISOString().replaceAll(/[:.]/g, '-')}-${mail.id}`;
      await mkdir(folder, { recursive: true, mode: 0o700 });
      // A process watching the folder only sees complete mails.
      const draft = join(folder, `.${name}.part`);
      await writeFile(draft, message, { mode: 0o600 });
      await rename(draft, join(folder, `${name}.eml`));
    },
    close: composer.close,
  };
}

/** A start without it is shorter by 60 ms of the processor, and many services never send a mail. */
function fromFirstMailOn<Transport extends { close(): void }>(
  create: (nodemailer: typeof import('nodemailer')) => Transport,
) {
  let opening: Promise<Transport> | undefined;
  return {
    open(): Promise<Transport> {
      opening ??= import('nodemailer').then(create);
      return opening;
    },
    close(): void {
      opening?.then(
        (opened) => opened.close(),
        () => undefined,
      );
    },
  };
}

function messageOf({ id, to, subject, text, date }: Mail) {
  return {
    // As an object, so that an address is never parsed as a list.
    to: { name: '', address: to },
    subject,
    text,
    date,
    messageId: `<${id}@coffer>`,
    headers: { 'Auto-Submitted': 'auto-generated' },
  };
}

/** `ECONNECTION`, `EENVELOPE 550`: what an operator needs, without an address. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const facts = ['code', 'responseCode'].map((name) => Reflect.get(error, name));
  return facts.filter((fact) => fact !== undefined).join(' ') || error.name;
}
