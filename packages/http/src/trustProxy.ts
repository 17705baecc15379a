import { loadExpress } from './express.ts';

/** What Express takes for 'trust proxy'. */
export type TrustProxy = boolean | number | readonly string[];

/**
 * Reads the setting COFFER_TRUST_PROXY: empty or `false` believes nobody's forwarded address, a number that
 * many hops, a list of addresses and networks (`10.0.0.0/8, loopback`) those, `true` everybody's. Throws on
 * what is none of these.
 */
export function parseTrustProxy(text: string | undefined): TrustProxy {
  const setting = text?.trim() ?? '';
  if (setting === '' || setting === 'false') return false;
  if (setting === 'true') return true;
  if (/^\d+$/.test(setting)) return Number(setting);
  const list = setting.split(',').map((part) => part.trim());
  // It is Express that will have to understand it.
  loadExpress()().set('trust proxy', list);
  return list;
}
