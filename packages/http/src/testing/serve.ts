/** Endpoints over real HTTP, for specs. */
import { type AppOptions, createApp } from '../app.ts';
import { createLogger } from '../logger.ts';
import { createMetricsRegistry } from '../metrics.ts';
import { type RunningServer, type ServerOptions, startServer } from '../server.ts';

export type ServedOptions = Partial<AppOptions> & Pick<AppOptions, 'endpoints' | 'catalog'>;

/** Nobody is known unless the options say otherwise. An answer that its endpoint does not declare fails. */
export function serve(options: ServedOptions, server: Partial<ServerOptions> = {}): Promise<RunningServer> {
  const app = createApp({
    resolveKey: () => undefined,
    resolveSession: () => undefined,
    allowedOrigins: { ofApp: () => false, ofAnyApp: () => false },
    isOperatorToken: () => false,
    errorOf: () => undefined,
    logger: createLogger({ level: 'silent' }),
    metrics: createMetricsRegistry(),
    readiness: async () => ({ ready: true, reasons: [] }),
    version: '1.2.3',
    onUndeclared: (problem) => {
      throw new Error(problem);
    },
    ...options,
  });
  return startServer(app, { host: '127.0.0.1', port: 0, ...server });
}
