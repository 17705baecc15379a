/** What any endpoint may answer, before and around its own rules. Source: contract, Common rules. */
import { type ErrorCatalog, rejecterFor } from '@coffer/kernel';

export const httpErrors = {
  'request/not_found': {
    status: 404,
    message:
      'There is nothing at this address. GET /v1/openapi.json lists every endpoint, GET /v1/operator/openapi.json those for operators.',
  },
  'request/method_not_allowed': {
    status: 405,
    message: 'This address does not take this method. The Allow header lists the methods it takes.',
  },
  'request/rate_limited': {
    status: 429,
    message: 'Too many requests. Wait for the seconds given in Retry-After, then try again.',
  },
  'request/unsupported_media_type': {
    status: 415,
    message: 'Send the body as application/json in UTF-8, without a content encoding.',
  },
  'request/too_large': {
    status: 413,
    message: 'The body is larger than this endpoint takes; details carry the limit.',
  },
  'request/malformed_json': {
    status: 400,
    message: 'The body is not one valid JSON document in UTF-8 without a byte order mark.',
  },
  'request/invalid': {
    status: 400,
    message: 'The request does not have the documented shape; details list what is wrong where.',
  },
  'request/malformed': { status: 400, message: 'This is not a valid HTTP request.' },
  'request/headers_too_large': { status: 431, message: 'The headers of the request are too large.' },
  'request/timeout': { status: 408, message: 'The request took too long to arrive.' },
  'auth/missing_credentials': {
    status: 401,
    message: 'Send the credential in the header Authorization: Bearer <token>.',
  },
  'auth/invalid_key': { status: 401, message: 'The key is unknown, expired or revoked.' },
  'auth/invalid_session': {
    status: 401,
    message: 'The session is not valid here. Refresh it, or sign in again.',
  },
  'auth/wrong_credential_kind': {
    status: 403,
    message: 'The credential is valid, but this endpoint takes another kind; details say which.',
  },
  'service/internal': {
    status: 500,
    message: 'Something went wrong on our side. Report the X-Request-Id of this answer.',
  },
  'service/outcome_unknown': {
    status: 503,
    message: 'We cannot tell whether the request took effect. Repeat the same request: that is safe.',
  },
  'service/overloaded': {
    status: 503,
    message: 'The service has more requests than it can take; nothing was done. Try again after Retry-After.',
  },
  'service/unavailable': {
    status: 503,
    message: 'A part of the service cannot be reached; nothing was done. Try again after Retry-After.',
  },
  'service/not_ready': {
    status: 503,
    message: 'The service is not ready to serve; details say why.',
  },
} as const satisfies ErrorCatalog;

export const reject = rejecterFor(httpErrors);
