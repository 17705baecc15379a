/** What happens to moves, and whether they can be carried out at all. */
import type { ConsumerStatus } from '@coffer/consumers';
import type { Registry } from '@coffer/http';
import { type Clock, type Environment, environment } from '@coffer/kernel';
import type { MoveHooks } from '@coffer/moves';
import { Counter, Gauge, Histogram } from 'prom-client';

export type MoveMetrics = ReturnType<typeof moveMetrics>;

export function moveMetrics(registry: Registry, clock: Clock) {
  const registers = [registry];
  const labelNames = ['environment'] as const;
  const counter = (name: string, help: string) => new Counter({ name, help, labelNames, registers });
  const attempts = counter('coffer_move_attempts_total', 'Transactions signed for moves.');
  const expired = counter('coffer_move_attempts_expired_total', 'Of these, those that can no longer land.');
  const troubles = counter('coffer_move_troubles_total', 'Failures on the way that were retried.');
  const failed = new Counter({
    name: 'coffer_moves_failed_total',
    help: 'Moves that failed for good, by the reason.',
    labelNames: ['environment', 'code'],
    registers,
  });
  const duration = new Histogram({
    name: 'coffer_move_confirmed_seconds',
    help: 'From the request of a move to its confirmation.',
    labelNames,
    buckets: [1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 900, 3600],
    registers,
  });
  const reachable = new Gauge({
    name: 'coffer_chain_reachable',
    help: '1 while the chain answers. Without a value if none is configured.',
    labelNames,
    registers,
  });
  const balance = new Gauge({
    name: 'coffer_fee_payer_balance_lamports',
    help: 'What is left to pay fees and rent with. At zero the moves of the app wait.',
    labelNames: ['app', 'environment'],
    registers,
  });
  const low = new Gauge({
    name: 'coffer_fee_payer_low',
    help: '1 while the fee payer holds less than COFFER_FEE_PAYER_LOW_LAMPORTS. Alarm when it is 1.',
    labelNames: ['app', 'environment'],
    registers,
  });

  const hooks: Omit<MoveHooks, 'onTrouble' | 'onNoChain'> = {
    onSigned: (where) => attempts.inc({ environment: where }),
    onExpired: (where) => expired.inc({ environment: where }),
    onEnded(where, { code, requestedAt }) {
      if (code !== null) failed.inc({ environment: where, code });
      else duration.observe({ environment: where }, (clock().getTime() - Date.parse(requestedAt)) / 1000);
    },
  };

  return {
    hooks,
    onTrouble: (where: Environment) => troubles.inc({ environment: where }),
    isReachable: (where: Environment, value: boolean) => reachable.set({ environment: where }, Number(value)),
    /** A metric is a floating-point number: only the order of magnitude matters here. */
    feePayerHolds(app: string, where: Environment, lamports: bigint, isLow: boolean): void {
      balance.set({ app, environment: where }, Number(lamports));
      low.set({ app, environment: where }, Number(isLow));
    },
    /** In the process that carries them; elsewhere undefined. */
    showInFlight(pendingOf: (where: Environment) => ConsumerStatus['pending']): void {
      const gauge = (name: string, help: string, figure: 'count' | 'oldestSeconds') =>
        new Gauge({
          name,
          help,
          labelNames,
          registers,
          collect() {
            for (const where of environment.options)
              this.set({ environment: where }, pendingOf(where)?.[figure] ?? 0);
          },
        });
      gauge('coffer_moves_in_flight', 'Requested and not finished.', 'count');
      gauge(
        'coffer_moves_oldest_in_flight_seconds',
        'Since the oldest of them was requested. Alarm when it grows.',
        'oldestSeconds',
      );
    },
  };
}
