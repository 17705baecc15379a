/** The shape of the repository as data: who may import whom. The picture is in `docs/architecture.md`. */

/**
 * What every context builds on: the apps, with what an operator has set for them; the players' accounts, and
 * the users who own them. The first of these knows none of the others.
 */
const BASE: readonly string[] = ['portal', 'accounts', 'users'];

/** The bounded contexts: they never import each other's code, only published event types where they react. */
export const CONTEXTS: readonly string[] = [
  'auth',
  'custody',
  'ledger',
  'referrals',
  'treasury',
  'wallets',
  'webhooks',
];

/** Contexts in whose decisions a floating-point number could be money. */
export const MONEY_CONTEXTS: readonly string[] = [
  'accounts',
  'custody',
  'ledger',
  'moves',
  'referrals',
  'treasury',
];

const BASE_ARROWS: readonly string[] = [
  'consumers',
  'database',
  'event-store',
  'host',
  'http',
  'kernel',
  'read-models',
];

const CONTEXT_ARROWS: readonly string[] = [...BASE_ARROWS, ...BASE];

/** What contexts may import in addition that move money on the chain, or tell of it. */
const CHAIN_ARROWS: Readonly<Record<string, readonly string[]>> = {
  treasury: ['moves', 'solana'],
  wallets: ['moves', 'solana'],
  webhooks: ['moves', 'wallets'],
};

/** What each package that is not a context may import. `testing` may import all packages. */
const ARROWS: Readonly<Record<string, readonly string[]>> = {
  kernel: [],
  audit: [...BASE_ARROWS, 'portal'],
  kafka: BASE_ARROWS,
  database: [],
  'embedded-chain': ['kernel', 'solana'],
  'embedded-postgres': [],
  moves: ['consumers', 'event-store', 'host', 'kernel', 'read-models', 'solana'],
  solana: ['kernel'],
  'event-store': ['database', 'kernel'],
  http: ['kernel'],
  consumers: ['database', 'event-store', 'kernel'],
  'read-models': ['consumers', 'database', 'event-store', 'kernel'],
  host: ['consumers', 'database', 'event-store', 'http', 'kernel', 'read-models'],
  reconcile: [...BASE_ARROWS, 'accounts', 'moves', 'portal', 'solana'],
  // What callers of the service get: it knows the service only by its addresses.
  sdk: [],
  'store-gateway': ['event-store'],
};

/** The packages that `name` may import; undefined if `name` is not listed yet. */
export function arrowsOf(name: string): readonly string[] | undefined {
  if (name === 'portal') return BASE_ARROWS;
  if (name === 'users') return [...BASE_ARROWS, 'portal'];
  if (BASE.includes(name)) return [...BASE_ARROWS, 'portal', 'users'];
  return CONTEXTS.includes(name) ? [...CONTEXT_ARROWS, ...(CHAIN_ARROWS[name] ?? [])] : ARROWS[name];
}

/** Third-party clients that only a few folders may import: package name to folders. */
export const DOORS: Readonly<Record<string, readonly string[]>> = {
  pg: [
    'packages/consumers/',
    'packages/database/',
    'packages/embedded-postgres/',
    'packages/event-store/src/postgres/',
    'packages/portal/',
    'packages/read-models/',
    'packages/testing/',
    'scripts/bench/',
  ],
  knex: ['packages/database/'],
  express: [
    'packages/http/',
    // Its yardstick is an application without our code.
    'scripts/bench/',
  ],
  'embedded-postgres': ['packages/embedded-postgres/'],
  litesvm: [
    'packages/embedded-chain/',
    // It runs attacks on wallets.
    'packages/wallets/src/testing/attacks/',
  ],
  '@grpc/grpc-js': [
    'packages/store-gateway/',
    // A node that does not lead, and one with users, for specs.
    'packages/event-store/src/testing/',
  ],
  // It could sign, so it is kept away from secret keys.
  '@solana/web3.js': ['packages/solana/src/web3/'],
  nodemailer: ['packages/auth/src/methods/email/'],
  '@eventstore/db-client': [
    'packages/store-gateway/',
    'packages/event-store/src/eventstoredb/',
    'packages/event-store/src/testing/',
    // This spec uses the service as any client does.
    'services/coffer/src/storeGateway.int.spec.ts',
  ],
};

/** Test code may import these too, as any client would: it makes what our own code would refuse to make. */
export const OPEN_TO_TESTS: readonly string[] = ['@solana/web3.js'];

/** `ledger` of `packages/ledger/src/routes.ts`; undefined outside `packages/`. */
export function packageOf(path: string): string | undefined {
  return /^packages\/([^/]+)\//.exec(path)?.[1];
}

/** `packages/ledger` of `packages/ledger/src/routes.ts`; undefined outside the workspaces. */
export function workspaceOf(path: string): string | undefined {
  return /^(?:packages|services)\/[^/]+(?=\/)/.exec(path)?.[0];
}

export const isSource = (path: string) => /\.(ts|mts|mjs)$/.test(path);

/** Specs, contract suites and benches: what runs only when testing or measuring. */
export const TEST_CODE =
  '\\.(spec|contract|bench)\\.ts$|^scripts/|^packages/testing/|^(packages|services)/[^/]+/src/testing(/|\\.ts$)';
export const isTestCode = (path: string) => new RegExp(TEST_CODE).test(path);

/**
 * Pure code: `packages/<context>/src/domain/` or `…/src/<part>/domain/`. The group is the folder of
 * `domain/`.
 */
export const DOMAIN = '^(packages/[^/]+/src/|packages/[^/]+/src/[^/]+/)domain/';
export const isDomain = (path: string) =>
  new RegExp(DOMAIN).test(path) && isSource(path) && !isTestCode(path);

/** Files that react to what other contexts publish, and their specs. */
export const REACTION = '\\.(projection|reactions)(\\.int|\\.e2e)?(\\.spec)?\\.ts$';
