export type { Registry } from 'prom-client';
export { type AppOptions, createApp } from './app.ts';
export type { Credentials } from './authenticate.ts';
export type { AllowedOrigins } from './cors.ts';
export * from './endpoint.ts';
export { httpErrors } from './errors.ts';
export { type ErrorOf, failureOf, type KnownFailure } from './failure.ts';
export { differentKeys, idempotencyKeyOf } from './idempotencyKey.ts';
export { DOCUMENT_MAX_AGE_SECONDS, type JsonDocument, jsonDocument } from './jsonDocument.ts';
export { createLogger, type Logger } from './logger.ts';
export { longTask, type TaskProgress, type TaskResult, taskLine, taskResult } from './longTask.ts';
export { createMetricsRegistry, type MetricFigures } from './metrics.ts';
export type { OutgoingMessage } from './openApi.ts';
export { createRateLimiter, type Rate, rateKeyOfAddress } from './rateLimiter.ts';
export {
  countTokens,
  DEFAULT_RATE_LIMITS,
  type RateLimitName,
  type RateLimits,
  type TakeToken,
} from './rateLimits.ts';
export { type RunningServer, startServer } from './server.ts';
export type { Readiness, StoppedReader } from './system.ts';
export { parseTrustProxy, type TrustProxy } from './trustProxy.ts';
