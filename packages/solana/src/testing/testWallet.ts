/** Wallets for specs, and their signatures. */
import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto';
import { encodeBase58 } from '@coffer/kernel';
import type { Address } from '../port.ts';
import { buildTransfer, type TransferOrder } from '../web3/buildTransfer.ts';

export interface TestWallet {
  readonly address: Address;
  readonly sign: (message: Uint8Array) => Uint8Array;
}

/** What precedes the 32 bytes of a seed in PKCS #8. */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

/** The same wallet for the same name. */
export function testWallet(name: string): TestWallet {
  const seed = createHash('sha256').update(`test wallet ${name}`).digest();
  const key = createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, seed]), format: 'der', type: 'pkcs8' });
  const { x = '' } = createPublicKey(key).export({ format: 'jwk' });
  return {
    address: encodeBase58(Buffer.from(x, 'base64url')),
    sign: (message) => Uint8Array.from(sign(null, message, key)),
  };
}

export function signedTransfer(
  order: Omit<TransferOrder, 'feePayer' | 'from'>,
  feePayer: TestWallet,
  from: TestWallet,
): Uint8Array {
  const { message, withSignatures } = buildTransfer({
    ...order,
    feePayer: feePayer.address,
    from: from.address,
  });
  return withSignatures([feePayer.sign(message), from.sign(message)]);
}
