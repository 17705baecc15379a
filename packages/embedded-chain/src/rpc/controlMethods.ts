/** How specs control a chain in another process. */
import { z } from 'zod';
import { faultSchema } from '../faults.ts';
import type { Method } from './context.ts';
import { invalidParams } from './errors.ts';

export interface Control {
  readonly advance: (slots: number) => void;
  readonly fork: (fork: ForkOptions) => number;
}

const forkSchema = z.strictObject({
  /** How many of the newest. */
  slots: z.int().min(1),
  /** What was in them lands again after this many slots; by default never. */
  landAgainAfter: z.int().min(1).optional(),
});
export type ForkOptions = z.infer<typeof forkSchema>;

export function controlMethods(control: Control): Readonly<Record<string, Method>> {
  return {
    injectFault: (params, { faults }) => faults.inject(readAs(faultSchema, params.value(0))),
    clearFaults: (_params, { faults }) => faults.clear(),
    advance: (params) => control.advance(Number(params.u64(0))),
    fork: (params) => control.fork(readAs(forkSchema, params.value(0))),
  };
}

function readAs<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw invalidParams(parsed.error.message);
  return parsed.data;
}
