/**
 * A relying party: the backend of a game. Coffer tells it who a player is; from then on it uses its own
 * token. Start it from the root of the repository:
 *
 *   COFFER_URL=http://127.0.0.1:8080/v1 COFFER_SECRET_KEY=sk_test_… GAME_TOKEN_SECRET=… \
 *     node docs/examples/relying-party/gameBackend.ts
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type BackendClient, CofferError, createBackendClient } from '@coffer/sdk';

const TOKEN_LIFETIME_SECONDS = 15 * 60;

export interface GameBackend {
  readonly coffer: Pick<BackendClient, 'sessions' | 'users'>;
  /** Signs the game's tokens: at least 32 random bytes, known to nobody else. */
  readonly tokenSecret: string;
  readonly nowMs?: () => number;
}

/**
 * POST /login takes the player's Coffer access token and answers a game token; GET /balance takes the game
 * token.
 */
export function createGameBackend({ coffer, tokenSecret, nowMs = Date.now }: GameBackend): Server {
  const sign = (text: string) => createHmac('sha256', tokenSecret).update(text).digest();

  /** A JWT, HS256. What it says comes from the verified session, never from the browser. */
  const mint = (userId: string): string => {
    const iat = Math.floor(nowMs() / 1_000);
    const claims = { sub: userId, iat, exp: iat + TOKEN_LIFETIME_SECONDS };
    const signed = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(claims)}`;
    return `${signed}.${sign(signed).toString('base64url')}`;
  };

  /** The player of a valid token of ours. The header has no say in the algorithm. */
  const playerOf = (token: string): string | undefined => {
    const [header, claims = '', signature = ''] = token.split('.');
    const given = Buffer.from(signature, 'base64url');
    const expected = sign(`${header}.${claims}`);
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
    const { sub, exp } = JSON.parse(Buffer.from(claims, 'base64url').toString());
    return exp * 1_000 > nowMs() ? sub : undefined;
  };

  const answer = async (request: IncomingMessage): Promise<readonly [status: number, body: unknown]> => {
    const bearer = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    switch (`${request.method} ${request.url}`) {
      case 'POST /login': {
        const player = await coffer.sessions.verify(bearer);
        return [200, { token: mint(player.userId), userId: player.userId, wallet: player.walletAddress }];
      }
      case 'GET /balance': {
        const userId = playerOf(bearer);
        if (!userId) return [401, { error: 'Log in again.' }];
        const accounts = await coffer.users.accounts(userId);
        return [
          200,
          accounts.map(({ currency, available }) => ({ currency, available: available.toString() })),
        ];
      }
      default:
        return [404, { error: 'There is nothing here.' }];
    }
  };

  return createServer(async (request, response) => {
    const [status, body] = await answer(request).catch(refusalOf);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
}

/** Only a refused session concerns the player; anything else is between this backend and Coffer. */
function refusalOf(error: unknown): readonly [status: number, body: unknown] {
  if (!(error instanceof CofferError)) return [500, { error: 'Something went wrong.' }];
  if (error.code === 'auth/invalid_session') return [401, { error: 'Sign in again.' }];
  return [error.retryable ? 503 : 500, { error: 'Coffer could not be asked.' }];
}

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

if (import.meta.main) {
  const {
    COFFER_URL: baseUrl,
    COFFER_SECRET_KEY: secretKey,
    GAME_TOKEN_SECRET: tokenSecret,
    PORT,
  } = process.env;
  if (!baseUrl || !secretKey || !tokenSecret) {
    process.stderr.write('Set COFFER_URL, COFFER_SECRET_KEY and GAME_TOKEN_SECRET.\n');
    process.exit(2);
  }
  const coffer = createBackendClient({ baseUrl, secretKey });
  const port = Number(PORT ?? 3000);
  createGameBackend({ coffer, tokenSecret }).listen(port, '127.0.0.1', () =>
    process.stderr.write(`The game listens on http://127.0.0.1:${port}\n`),
  );
}
