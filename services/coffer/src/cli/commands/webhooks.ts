import { type Command, Option } from 'commander';
import { z } from 'zod';
import { type AdminApi, createAdminApi, pathOf } from '../adminApi.ts';
import { appOption, type Cli, environmentOption, wantsJson, wholeNumber } from '../cli.ts';
import { isRow, rowsTable, write } from '../output.ts';
import { listen } from './webhooksListen.ts';

interface WebhookOptions {
  readonly app: string;
  readonly webhook: string;
}

const webhookOption = () => new Option('--webhook <id>', 'the subscription').makeOptionMandatory();
const STOP_SIGNALS = ['SIGINT', 'SIGTERM'] as const;
const issued = z.object({ token: z.string() });

export function registerPortal(program: Command, { api, print }: Cli): void {
  program
    .command('portal')
    .description('sessions of the portal')
    .command('token')
    .description('issue a portal session token for an app')
    .addOption(appOption())
    .addOption(new Option('--role <role>', 'what it may do').choices(['viewer', 'admin']))
    .option('--ttl <seconds>', 'how long it is valid', wholeNumber)
    .action(async ({ app, role, ttl }: { app: string; role?: string; ttl?: number }, command: Command) => {
      await print(command, await api.post(pathOf('app', app, 'token'), { role, ttlSeconds: ttl }));
    });
}

interface RotateOptions {
  readonly idempotencyKey?: string;
}

interface LogOptions {
  readonly state?: string;
  readonly type?: string;
  readonly object?: string;
  readonly since?: string;
  readonly until?: string;
  readonly limit?: number;
}

interface ListenOptions {
  readonly app: string;
  readonly forward: string;
  readonly secret?: string;
  readonly after?: number;
  readonly events?: string;
  readonly env?: string;
}

export function registerWebhooks(program: Command, cli: Cli): void {
  const { api, connect, print } = cli;
  const webhooks = program.command('webhooks').description('endpoints that are told what happens in an app');

  /** As the portal of the app: each command has a session of its own. */
  const portalOf = (app: string): AdminApi =>
    createAdminApi(async () => {
      const { baseUrl } = await connect();
      const { token } = issued.parse(await api.post(pathOf('app', app, 'token'), { ttlSeconds: 60 }));
      return { baseUrl, token };
    });
  const path = (app: string, ...rest: readonly string[]) => pathOf('app', app, 'webhooks', ...rest);
  const ofOne = (name: string) => webhooks.command(name).addOption(appOption()).addOption(webhookOption());

  webhooks
    .command('list')
    .description('list the subscriptions of an app')
    .addOption(appOption())
    .action(async ({ app }: { app: string }, command: Command) => {
      await print(command, await portalOf(app).get(path(app)), (found) =>
        rowsTable(Array.isArray(found) ? found.filter(isRow) : []),
      );
    });

  webhooks
    .command('create')
    .description('subscribe an endpoint; its secret is printed once')
    .addOption(appOption())
    .requiredOption('--url <url>', 'where events are sent')
    .option('--events <types>', 'their types, separated by commas; by default all')
    .addOption(environmentOption())
    .action(
      async (
        { app, url, events, env }: { app: string; url: string; events?: string; env?: string },
        command: Command,
      ) => {
        const body = { url, events: events?.split(',').map((type) => type.trim()), environment: env };
        await print(command, await portalOf(app).post(path(app), body));
      },
    );

  ofOne('rotate')
    .description('replace the secret; both sign for 24 hours')
    .option('--idempotency-key <key>', 'makes it safe to repeat the command')
    .action(async ({ app, webhook, idempotencyKey }: WebhookOptions & RotateOptions, command: Command) => {
      await print(command, await portalOf(app).post(path(app, webhook, 'rotate'), {}, { idempotencyKey }));
    });

  ofOne('test')
    .description('send a test event, and print what came back')
    .option('--type <type>', 'the type of the event')
    .action(async ({ app, webhook, type }: WebhookOptions & { type?: string }, command: Command) => {
      await print(command, await portalOf(app).post(path(app, webhook, 'test'), { type }));
    });

  ofOne('log')
    .description('list deliveries with their attempts, the newest first')
    .addOption(new Option('--state <state>', 'only these').choices(['pending', 'delivered', 'failed']))
    .option('--type <type>', 'only events of this type')
    .option('--object <id>', 'only events about this user, wallet or move')
    .option('--since <time>', 'only events from then on')
    .option('--until <time>', 'only events before')
    .option('--limit <number>', 'how many', wholeNumber)
    .action(
      async (
        { app, webhook, state, type, object, since, until, limit }: WebhookOptions & LogOptions,
        command: Command,
      ) => {
        const query = {
          state,
          type,
          objectId: object,
          since,
          until,
          limit: limit === undefined ? undefined : String(limit),
        };
        await print(command, await portalOf(app).get(path(app, webhook, 'deliveries'), query));
      },
    );

  webhooks
    .command('listen')
    .description('hand events on to an address of this machine, signed as deliveries are')
    .addOption(appOption())
    .requiredOption('--forward <url>', 'where events are sent')
    .option('--secret <secret>', 'signs them; by default a new one, which is printed')
    .option('--after <sequence>', 'begin after this event; by default with the next one', wholeNumber)
    .option('--events <types>', 'their types, separated by commas; by default all')
    .addOption(environmentOption())
    .action(async ({ app, events, env, ...options }: ListenOptions, command: Command) => {
      const stop = new AbortController();
      const onSignal = () => stop.abort();
      for (const signal of STOP_SIGNALS) process.on(signal, onSignal);
      try {
        const after = await listen({
          ...options,
          api: portalOf(app),
          appId: app,
          types: events,
          environment: env,
          signal: stop.signal,
          say: (text) => write(cli.stderr, `${text}\n`),
          onEvent: (handed) =>
            write(
              cli.stdout,
              wantsJson(command)
                ? `${JSON.stringify(handed)}\n`
                : `${handed.sequence} ${handed.type} ${handed.id} ${handed.status}\n`,
            ),
        });
        await write(cli.stderr, `Go on with --after ${after}\n`);
      } finally {
        for (const signal of STOP_SIGNALS) process.off(signal, onSignal);
      }
    });

  ofOne('resend')
    .description('deliver events again: by number, or what failed since a time')
    .option('--from <sequence>', 'the first one', wholeNumber)
    .option('--to <sequence>', 'the last one', wholeNumber)
    .option('--failed-since <time>', 'what was given up, of events since then')
    .action(
      async (
        { app, webhook, ...which }: WebhookOptions & { from?: number; to?: number; failedSince?: string },
        command: Command,
      ) => {
        await print(command, await portalOf(app).post(path(app, webhook, 'resend'), which));
      },
    );
}
