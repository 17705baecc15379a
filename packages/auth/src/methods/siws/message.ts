/**
 * The text that a wallet shows and signs, made from the challenge as we stored it: never from what a client
 * sends, whose free text could imitate fields. Source: contract, Sign-in and sessions; the format is
 * https://github.com/phantom/sign-in-with-solana.
 */
import type { Environment } from '@coffer/kernel';

/** A challenge as it was issued; times are ISO 8601 UTC with milliseconds. */
export interface Challenge {
  readonly nonce: string;
  readonly domain: string;
  readonly statement: string;
  readonly uri: string;
  readonly issuedAt: string;
  readonly expiresAt: string;
}

export interface MessageFields extends Partial<Omit<Challenge, 'domain'>> {
  readonly domain: string;
  readonly address: string;
  readonly version?: string | undefined;
  readonly chainId?: string | undefined;
}

const CHAINS: Readonly<Record<Environment, string>> = { test: 'devnet', live: 'mainnet' };

const LINES = {
  uri: 'URI',
  version: 'Version',
  chainId: 'Chain ID',
  nonce: 'Nonce',
  issuedAt: 'Issued At',
  expiresAt: 'Expiration Time',
} as const;

type LineOrder = readonly (keyof typeof LINES)[];

/** The format's own order, rendered by `@solana/wallet-standard-util` and most wallets. */
export const FORMAT_ORDER: LineOrder = ['uri', 'version', 'chainId', 'nonce', 'issuedAt', 'expiresAt'];
/** The order of `@supabase/auth-js`, for wallets that sign a text and no fields. */
export const AUTH_JS_ORDER: LineOrder = ['version', 'uri', 'issuedAt', 'expiresAt', 'chainId', 'nonce'];

/** Lines are separated by LF, with none after the last; an absent field has no line. */
export function renderMessage(message: MessageFields, order: LineOrder = FORMAT_ORDER): string {
  const lines = order.flatMap((field) => {
    const value = message[field];
    return value === undefined ? [] : [`${LINES[field]}: ${value}`];
  });

  let text = `${message.domain} wants you to sign in with your Solana account:\n${message.address}`;
  if (message.statement !== undefined) text += `\n\n${message.statement}`;
  if (lines.length > 0) text += `\n\n${lines.join('\n')}`;
  return text;
}

/** The text that the challenge carries, with every line that we know. */
export function messageOf(challenge: Challenge, address: string, environment: Environment): string {
  return renderMessage({ ...challenge, address, version: '1', chainId: CHAINS[environment] });
}

/**
 * What a wallet may have signed for this challenge. Some render `Version` and `Chain ID` and some do not, the
 * chain with or without its namespace, in either order; a Ledger signs an envelope around the text.
 */
export function signablesOf(
  challenge: Challenge,
  address: string,
  key: Uint8Array,
  environment: Environment,
): readonly Uint8Array[] {
  const chain = CHAINS[environment];
  const texts = [chain, undefined, `solana:${chain}`].flatMap((chainId) => {
    const fields = { ...challenge, address, chainId };
    return [
      renderMessage({ ...fields, version: '1' }),
      renderMessage(fields),
      renderMessage({ ...fields, version: '1' }, AUTH_JS_ORDER),
    ].map((text) => Buffer.from(text));
  });
  return [...texts, ...texts.flatMap((text) => offchainEnvelopesOf(text, challenge.domain, key))];
}

/**
 * The envelopes that Ledgers put around a text. Older device applications use format 1 for text with line breaks;
 * the wallet chooses whether the header names the site's domain; the oldest know only the short header.
 */
function offchainEnvelopesOf(text: Uint8Array, domain: string, key: Uint8Array): readonly Uint8Array[] {
  return ([0, 1] as const).flatMap((format) => [
    offchainEnvelope(text, { format, domain, key }),
    offchainEnvelope(text, { format, domain: '', key }),
    offchainEnvelope(text, { format }),
  ]);
}

const SIGNING_DOMAIN = Buffer.concat([Buffer.from([0xff]), Buffer.from('solana offchain')]);
const VERSION = Buffer.from([0]);
const ONE_SIGNER = Buffer.from([1]);
const APPLICATION_DOMAIN_BYTES = 32;

export interface EnvelopeHeader {
  /** 0: ASCII; 1: UTF-8. */
  readonly format: 0 | 1;
  /** The site's domain; empty if the wallet names none. */
  readonly domain?: string;
  readonly key?: Uint8Array;
}

/** A text in version 0 of the off-chain format; without domain and key, with the short header. */
export function offchainEnvelope(text: Uint8Array, { format, domain, key }: EnvelopeHeader): Uint8Array {
  const applicationDomain = Buffer.alloc(APPLICATION_DOMAIN_BYTES);
  applicationDomain.write(domain ?? '');
  const length = Buffer.alloc(2);
  length.writeUInt16LE(text.length);
  const header = key
    ? [VERSION, applicationDomain, Buffer.from([format]), ONE_SIGNER, key]
    : [VERSION, Buffer.from([format])];
  return Buffer.concat([SIGNING_DOMAIN, ...header, length, text]);
}
