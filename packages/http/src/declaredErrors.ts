/** The codes that an endpoint can answer: its own, and those of everything before and around its handler. */
import { type Endpoint, takesBody } from './endpoint.ts';

export function declaredErrors(endpoint: Endpoint): readonly string[] {
  return [...new Set([...endpoint.errors, ...commonErrors(endpoint)])];
}

function commonErrors(endpoint: Endpoint): readonly string[] {
  const { credential, method, rateLimit } = endpoint;
  const codes = ['service/internal', 'service/overloaded', 'service/unavailable'];
  if (credential !== 'none') {
    const invalid =
      credential === 'session' || credential === 'portal' ? 'auth/invalid_session' : 'auth/invalid_key';
    codes.push('auth/missing_credentials', invalid, 'auth/wrong_credential_kind');
  }
  if (takesBody(endpoint)) {
    codes.push('request/unsupported_media_type', 'request/too_large', 'request/malformed_json');
  }
  // Any request may carry an undescribed parameter, which is refused.
  codes.push('request/invalid');
  if (rateLimit || credential === 'sk') codes.push('request/rate_limited');
  // The outcome of a request that only reads is never in doubt.
  if (method !== 'GET') codes.push('service/outcome_unknown');
  return codes;
}
