/**
 * The text that a wallet shows and signs, made from a challenge as we stored it: never from what a client
 * sends, whose free text could imitate fields. Source: contract, Sign-in and sessions; the format is that of
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

/** Lines end with LF, the last one with nothing; a field that is not given has no line. */
export function renderMessage(message: MessageFields): string {
  const lines = Object.entries({
    URI: message.uri,
    Version: message.version,
    'Chain ID': message.chainId,
    Nonce: message.nonce,
    'Issued At': message.issuedAt,
    'Expiration Time': message.expiresAt,
  }).flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]));

  let text = `${message.domain} wants you to sign in with your Solana account:\n${message.address}`;
  if (message.statement !== undefined) text += `\n\n${message.statement}`;
  if (lines.length > 0) text += `\n\n${lines.join('\n')}`;
  return text;
}

/** The text that the challenge carries: with every line that we know. */
export function messageOf(challenge: Challenge, address: string, environment: Environment): string {
  return renderMessage({ ...challenge, address, version: '1', chainId: CHAINS[environment] });
}

/**
 * What a wallet may have signed for this challenge. Some render `Version` and `Chain ID` and some do not, the
 * chain with or without its namespace; a Ledger signs an envelope around the text.
 */
export function signablesOf(
  challenge: Challenge,
  address: string,
  key: Uint8Array,
  environment: Environment,
): readonly Uint8Array[] {
  const chain = CHAINS[environment];
  const texts = ['1', undefined].flatMap((version) =>
    [chain, undefined, `solana:${chain}`].map((chainId) =>
      Buffer.from(renderMessage({ ...challenge, address, version, chainId })),
    ),
  );
  return [...texts, ...texts.map((text) => offchainEnvelope(text, challenge.domain, key))];
}

const SIGNING_DOMAIN = Buffer.concat([Buffer.from([0xff]), Buffer.from('solana offchain')]);
const APPLICATION_DOMAIN_BYTES = 32;

/** The header that a Ledger puts before the text: version 0, the site's domain, format 0 (ASCII), one signer. */
export function offchainEnvelope(text: Uint8Array, domain: string, key: Uint8Array): Uint8Array {
  const applicationDomain = Buffer.alloc(APPLICATION_DOMAIN_BYTES);
  applicationDomain.write(domain);
  const length = Buffer.alloc(2);
  length.writeUInt16LE(text.length);
  return Buffer.concat([
    SIGNING_DOMAIN,
    Buffer.from([0]),
    applicationDomain,
    Buffer.from([0]),
    Buffer.from([1]),
    key,
    length,
    text,
  ]);
}
