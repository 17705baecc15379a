/** The compose file as we use it: a subset of the compose specification; anything else is a mistake. */
import { parse } from 'yaml';
import { z } from 'zod';

const environment = z.record(z.string().regex(/^[A-Z][A-Z0-9_]*$/), z.string());

const service = z.strictObject({
  image: z.string(),
  /** Started only on request. */
  profiles: z.array(z.string()).optional(),
  build: z.strictObject({ context: z.string(), dockerfile: z.string() }).optional(),
  command: z.array(z.string()).optional(),
  entrypoint: z.array(z.string()).optional(),
  user: z
    .string()
    .regex(/^\d+:\d+$/)
    .optional(),
  environment: environment.default({}),
  depends_on: z
    .record(
      z.string(),
      z.strictObject({
        condition: z.enum(['service_started', 'service_healthy', 'service_completed_successfully']),
      }),
    )
    .default({}),
  networks: z.array(z.string()).default([]),
  network_mode: z.literal('none').optional(),
  volumes: z.array(z.string().regex(/^[\w./-]+:\/[\w./-]+(:ro)?$/)).default([]),
  ports: z
    .array(
      z.strictObject({
        target: z.int(),
        published: z.string(),
        host_ip: z.ipv4(),
        protocol: z.enum(['tcp', 'udp']),
      }),
    )
    .default([]),
  healthcheck: z
    .strictObject({
      test: z.tuple([z.enum(['CMD', 'CMD-SHELL'])], z.string()),
      interval: z.string(),
      timeout: z.string(),
      retries: z.int(),
    })
    .optional(),
  restart: z.enum(['unless-stopped', 'always', 'on-failure', 'no']).optional(),
  stop_grace_period: z.string().optional(),
  shm_size: z.string().optional(),
  mem_limit: z.string().optional(),
  ulimits: z.record(z.string(), z.strictObject({ soft: z.int(), hard: z.int() })).optional(),
  read_only: z.boolean().optional(),
  tmpfs: z.array(z.string()).optional(),
  cap_drop: z.array(z.string()).optional(),
  security_opt: z.array(z.string()).optional(),
});
export type ComposeService = z.infer<typeof service>;

const composeFile = z.strictObject({
  name: z.string(),
  services: z.record(z.string(), service),
  networks: z.record(z.string(), z.strictObject({ internal: z.boolean().optional() })),
  volumes: z.record(z.string(), z.strictObject({})),
});
export type ComposeFile = z.infer<typeof composeFile>;

/**
 * The file with its variables filled in. Throws, with every problem, for a text that is not YAML or not of
 * this shape, and for a required variable that is not set. Parts named `x-…` exist to be reused by others.
 */
export function parseCompose(text: string, values: Readonly<Record<string, string>>): ComposeFile {
  // Compose fills values in after parsing, so a value cannot change the structure.
  const fill = (_key: unknown, value: unknown) =>
    typeof value === 'string' ? interpolated(value, values) : value;
  const document: unknown = parse(text, fill, { merge: true });
  const entries = Object.entries(z.record(z.string(), z.unknown()).parse(document));
  return composeFile.parse(Object.fromEntries(entries.filter(([key]) => !key.startsWith('x-'))));
}

export interface Interpolation {
  readonly name: string;
  /** The default of a variable that is empty or not set; undefined if the start is refused instead. */
  readonly otherwise: string | undefined;
}

const INTERPOLATION = /\$\{([A-Z_]+)(?::(-|\?)([^}]*))?\}/g;

/** Every variable that the text takes from the environment or from `.env`. */
export function interpolationsOf(text: string): readonly Interpolation[] {
  return [...text.matchAll(INTERPOLATION)].map(([, name = '', kind, rest = '']) => ({
    name,
    otherwise: kind === '?' ? undefined : rest,
  }));
}

function interpolated(text: string, values: Readonly<Record<string, string>>): string {
  return text.replaceAll(INTERPOLATION, (_all, name: string, kind?: string, rest = '') => {
    const value = values[name];
    if (value) return value;
    if (kind === '?') throw new Error(`${name} is not set: ${rest}`);
    return rest;
  });
}
