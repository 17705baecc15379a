/** The requests to the ledger and their answers: what the checker knows about a run. */
import assert from 'node:assert/strict';
import { accountsErrors } from '@coffer/accounts';
import { custodyErrors } from '@coffer/custody/testing';
import type { StreamEvent } from '@coffer/event-store';
import type { Environment, ErrorCatalog } from '@coffer/kernel';
import { referralsErrors } from '@coffer/referrals/testing';
import { usersErrors } from '@coffer/users';
import { ledgerErrors } from '../errors.ts';
import type { Answer, Operation } from './operations.ts';

/** An app in one environment. */
export interface Place {
  /** `<environment>.<appId>` */
  readonly name: string;
  readonly appId: string;
  readonly environment: Environment;
}

type WithoutChosen<Each> = Each extends unknown ? Omit<Each, 'chosen'> : never;

/** What a caller asks for, without what the service chooses. */
export type Asked = WithoutChosen<Operation>;

export type Call =
  | { readonly kind: 'single'; readonly operation: Asked }
  /** An open whose `transactionUuid` is sent as the header Idempotency-Key. */
  | { readonly kind: 'keyInHeader'; readonly operation: Extract<Asked, { op: 'open' }> }
  | { readonly kind: 'batch'; readonly sessionId: string; readonly operations: readonly Asked[] }
  /** A player's funds in all currencies. */
  | { readonly kind: 'accounts'; readonly userId: string };

export interface Received {
  readonly status: number;
  /** The exact body. */
  readonly text: string;
  readonly replayed: boolean;
}

/** One copy of a request. Times are ticks of a single clock, each tick used once. */
export interface Attempt {
  /** The correlation id of the resulting events. */
  readonly id: string;
  readonly place: Place;
  readonly call: Call;
  readonly sentAt: number;
  /** Undefined if the reply was lost or the service died. */
  readonly received: (Received & { readonly at: number }) | undefined;
  /** The length of the log when it was sent and when it was answered, if a run can tell. */
  readonly log?: { readonly from: number; readonly to: number };
}

export interface Run {
  /** In the order of the log. */
  readonly events: readonly StreamEvent[];
  readonly attempts: readonly Attempt[];
  readonly places: readonly Place[];
  readonly users: readonly string[];
  readonly currencies: readonly { readonly id: number; readonly code: string }[];
}

export function operationsOf({ call }: Attempt): readonly Asked[] {
  switch (call.kind) {
    case 'single':
    case 'keyInHeader':
      return [call.operation];
    case 'batch':
      return call.operations;
    case 'accounts':
      return [];
  }
}

const catalogue: ErrorCatalog = {
  ...accountsErrors,
  ...custodyErrors,
  ...ledgerErrors,
  ...referralsErrors,
  ...usersErrors,
};

const CREATES: ReadonlySet<Operation['op']> = new Set(['open', 'lock', 'payout']);

/** The answer as it is on the wire. */
export function receivedOf(answer: Answer, op: Operation['op']): Received {
  if (answer.accepted) {
    const { body, replayed } = answer;
    return {
      status: CREATES.has(op) ? 201 : 200,
      text: JSON.stringify(body),
      replayed,
    };
  }
  const { code, details } = answer;
  const entry = Object.entries(catalogue).find(([each]) => each === code)?.[1];
  assert(entry, `${code} is not in any catalogue`);
  const text = JSON.stringify({ code, message: entry.message, details });
  return { status: entry.status, text, replayed: false };
}
