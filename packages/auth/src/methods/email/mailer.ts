/** Hands over queued mail, a few at a time, and retries refused mail until its code expires. */
import { backOffMs } from '@coffer/consumers';
import type { Outbox, TakenMail } from './outbox.ts';
import type { MailTransport } from './transport.ts';

export interface Mailer {
  /** There is mail to send: do not wait for the next poll. */
  readonly nudge: () => void;
  /** Nothing is handed over before this. */
  readonly start: () => void;
  /** Waits for mail being handed over, but not for an unresponsive server: another node will retry. */
  readonly stop: () => Promise<void>;
}

export interface MailerOptions {
  readonly outbox: Outbox;
  readonly transport: MailTransport;
  /** Called for each failure; the errors contain neither address nor code. */
  readonly onTrouble: (error: unknown) => void;
  /** How often to look for mail of other nodes and mail to retry. */
  readonly pollIntervalMs?: number;
  readonly firstRetryMs?: number;
}

const PARALLEL_MAILS = 5;
const MOST_RETRY_MS = 30_000;
const STOP_WAIT_MS = 5_000;

export function createMailer(options: MailerOptions): Mailer {
  const { outbox, transport, onTrouble, pollIntervalMs = 1_000, firstRetryMs = 1_000 } = options;
  const inFlight = new Set<Promise<void>>();
  const bell = createBell();
  let stopping = false;
  let running: Promise<void> | undefined;

  return {
    nudge: bell.ring,
    start: () => {
      running ??= run();
    },
    stop: async () => {
      stopping = true;
      bell.ring();
      await running;
      await atMost(STOP_WAIT_MS, Promise.all(inFlight));
      transport.close();
    },
  };

  async function run(): Promise<void> {
    while (!stopping) {
      let taken: readonly TakenMail[] = [];
      try {
        const givenUp = await outbox.giveUp();
        if (givenUp > 0) onTrouble(new Error(`${givenUp} mails were given up: their codes have expired.`));
        const free = PARALLEL_MAILS - inFlight.size;
        if (free > 0) taken = await outbox.take(free);
      } catch (error) {
        // The database is away: the queued mail waits in it.
        onTrouble(error);
      }
      for (const mail of taken) {
        const delivery: Promise<void> = deliver(mail).finally(() => {
          inFlight.delete(delivery);
          bell.ring();
        });
        inFlight.add(delivery);
      }
      if (taken.length === 0) await bell.heardWithin(pollIntervalMs);
    }
  }

  /** Never rejects. */
  async function deliver(taken: TakenMail): Promise<void> {
    try {
      await transport.send(taken.open());
      await outbox.remove(taken);
    } catch (error) {
      onTrouble(error);
      const delayMs = backOffMs(taken.attempts, firstRetryMs, MOST_RETRY_MS);
      // If this fails too, the mail is taken again once its lease expires.
      await outbox.putBack(taken, delayMs).catch(onTrouble);
    }
  }
}

async function atMost(limitMs: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  await Promise.race([work, limit]);
  clearTimeout(timer);
}

/** A ring that nobody is listening for is kept until the next listener. */
function createBell() {
  let rung = false;
  let wake = () => {};
  return {
    ring: () => {
      rung = true;
      wake();
    },
    heardWithin: async (delayMs: number): Promise<void> => {
      if (!rung) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, delayMs);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      rung = false;
      wake = () => {};
    },
  };
}
