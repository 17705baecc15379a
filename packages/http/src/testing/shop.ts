/** A small API for this package's specs: its callers, one endpoint, its errors. */
import { type ErrorCatalog, positiveAmount, rejecterFor } from '@coffer/kernel';
import { z } from 'zod';
import { type AppCaller, type Endpoint, endpoint, type SessionCaller } from '../endpoint.ts';

export const SECRET_KEY = 'sk_test_alpha';
export const PUBLISHABLE_KEY = 'pk_test_alpha';
/** Three parts, as a JWT has: whether they are well signed is for whoever resolves them. */
export const ACCESS_TOKEN = 'eyJhbGciOi.eyJzdWIi.c2ln';
export const OPERATOR_TOKEN = 'operator-token-of-the-spec';

export const shopErrors = {
  'shop/closed': { status: 404, message: 'The shop is closed.' },
  'shop/too_poor': { status: 409, message: 'The price exceeds the balance.' },
} as const satisfies ErrorCatalog;
export const rejectShop = rejecterFor(shopErrors);

const keyOf = (kind: AppCaller['kind'], keyId: string): AppCaller => ({
  kind,
  appId: 'app_1',
  scopeId: 'scp_1',
  environment: 'test',
  keyId,
});

export const callers: Readonly<Record<string, AppCaller>> = {
  [SECRET_KEY]: keyOf('secret', 'key_1'),
  [PUBLISHABLE_KEY]: keyOf('publishable', 'key_2'),
};

export const player: SessionCaller = {
  kind: 'session',
  userId: 'usr_1',
  sessionId: 'sid_1',
  appId: 'app_1',
  scopeId: 'scp_1',
  environment: 'test',
  authenticatedAt: '2026-03-01T12:00:00.000Z',
};

export const purchaseBody = z.strictObject({
  item: z.string().min(1),
  price: positiveAmount,
  note: z.string().optional(),
});

/** POST /shop/purchases: answers the price in words of the wire, so that a spec sees what was parsed. */
export const buy = endpoint({
  method: 'POST',
  path: '/shop/purchases',
  credential: 'sk',
  summary: 'Buy an item',
  body: purchaseBody,
  success: { status: 201, schema: z.strictObject({ item: z.string(), price: z.string() }) },
  errors: ['shop/too_poor'],
  handle: ({ body }) => {
    if (body.price > 1_000n) throw rejectShop('shop/too_poor', { price: body.price, balance: 1_000n });
    return { status: 201, body: { item: body.item, price: body.price.toString() } };
  },
});

/** An endpoint for one spec, with the tedious parts filled in. */
export function simpleEndpoint(parts: Partial<Endpoint> & Pick<Endpoint, 'path' | 'handle'>): Endpoint {
  return {
    method: 'GET',
    credential: 'none',
    summary: 'Do something for a spec',
    success: { status: 200 },
    errors: [],
    ...parts,
  };
}
