/** The treasury group. Source: specification, Treasury; docs/api.md, Treasury. */
import { type Endpoint, endpoint } from '@coffer/http';
import { treasuryMove, treasuryMoveBody } from '@coffer/moves';
import * as schemas from './schemas.ts';
import type { Treasury } from './treasury.ts';

const SUBJECT_ERRORS = ['users/not_found', 'treasury/unknown_currency'] as const;
const CHAIN_ERRORS = [
  'treasury/currency_not_on_chain',
  'chain/not_configured',
  'chain/unreachable',
  'wallets/keys_unavailable',
] as const;
const TRANSFER_ERRORS = [
  ...SUBJECT_ERRORS,
  'treasury/idempotency_conflict',
  'users/suspended',
  ...CHAIN_ERRORS,
  'wallets/no_wallet',
  'treasury/recipient_refused',
  'treasury/mint_not_supported',
  'treasury/account_frozen',
  'treasury/below_rent_minimum',
] as const;

export function treasuryEndpoints(treasury: Treasury): readonly Endpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/treasury/deposit',
      credential: 'sk',
      summary: "Move funds from a user's wallet to the treasury",
      description:
        'Answers the move as it was requested, even in a repeat; its present state is in its status. The amount becomes available once the chain has confirmed it.',
      body: schemas.transferBody,
      links: {
        'POST /treasury/status': { ref: '$response.body#/ref' },
        'POST /treasury/balance': { userId: '$response.body#/userId', currency: '$response.body#/currency' },
      },
      success: { status: 201, schema: treasuryMove },
      errors: [...TRANSFER_ERRORS, 'treasury/insufficient_wallet_funds'],
      handle: async ({ caller, body, context }) => {
        const { answer, replayed } = await treasury.deposit(caller, body, context);
        return { status: 201, body: treasuryMoveBody(answer), replayed };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/treasury/withdraw',
      credential: 'sk',
      summary: "Move funds from the treasury to a user's wallet",
      description:
        'Holds the amount first, and gives it back if the move fails for good; a ref that has failed stays failed. Answers the move as it was requested, even in a repeat.',
      body: schemas.transferBody,
      links: {
        'POST /treasury/status': { ref: '$response.body#/ref' },
        'POST /treasury/balance': { userId: '$response.body#/userId', currency: '$response.body#/currency' },
      },
      success: { status: 200, schema: treasuryMove },
      errors: [
        ...TRANSFER_ERRORS,
        'treasury/insufficient_treasury',
        'wallets/rent_not_sponsored',
        'treasury/insufficient_funds',
      ],
      handle: async ({ caller, body, context }) => {
        const { answer, replayed } = await treasury.withdraw(caller, body, context);
        return { status: 200, body: treasuryMoveBody(answer), replayed };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/treasury/status',
      credential: 'sk',
      summary: 'The state of a deposit or withdrawal',
      description: 'It is `confirmed` once it is in a finalized block and in the books, and never before.',
      body: schemas.statusBody,
      success: { status: 200, schema: treasuryMove },
      errors: ['treasury/move_not_found'],
      handle: async ({ caller, body, context }) => {
        return { status: 200, body: treasuryMoveBody(await treasury.show(caller, body.ref, context)) };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/treasury/balance',
      credential: 'sk',
      summary: "A user's net position, and what the treasury holds and owes",
      body: schemas.balanceBody,
      success: { status: 200, schema: schemas.treasuryBalance },
      errors: [...SUBJECT_ERRORS, ...CHAIN_ERRORS],
      handle: async ({ caller, body, context }) => {
        return {
          status: 200,
          body: schemas.treasuryBalanceBody(await treasury.balance(caller, body, context)),
        };
      },
    }),
  ];
}
