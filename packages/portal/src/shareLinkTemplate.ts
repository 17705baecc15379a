/** What a template of share links may be. Source: contract, Referrals (codes). */
import { z } from 'zod';

/** What a browser or a system opens itself, instead of a site or an app: some run what the address holds. */
const SCHEMES_OF_NO_APP: ReadonlySet<string> = new Set([
  'about',
  'blob',
  'chrome',
  'data',
  'file',
  'filesystem',
  'ftp',
  'javascript',
  'resource',
  'vbscript',
  'view-source',
  'ws',
  'wss',
]);

/** The address of a site or, with a scheme of its own, of an app; all characters are visible. */
const ADDRESS = /^(?<scheme>[a-z][a-z0-9+.-]{0,31}):\/\/[^\s\p{C}]+$/iu;

function isOfSiteOrApp(template: string): boolean {
  const scheme = ADDRESS.exec(template)?.groups?.scheme?.toLowerCase();
  if (scheme === undefined || SCHEMES_OF_NO_APP.has(scheme)) return false;
  return URL.canParse(template.replaceAll('{codeUrl}', 'CODE').replaceAll('{code}', 'CODE'));
}

export const shareLinkTemplate = z
  .string()
  .max(500)
  .refine(
    (text) => text.includes('{code}') || text.includes('{codeUrl}'),
    'must contain {code}, or {codeUrl} for the percent-encoded code',
  )
  .refine(
    isOfSiteOrApp,
    'must be an address that begins with http://, https:// or the scheme of an app such as game://, without white space',
  );
