/** The parts that need the curve: web3.js can tell which 32 bytes are a point on it. */
import type { Address } from '../port.ts';
import { ASSOCIATED_TOKEN_PROGRAM } from '../programs/ids.ts';
import { web3 } from './web3.ts';

/**
 * Whether the address can have a key. Program addresses are off the curve, and only the program can dispose
 * of what is sent to them.
 */
export function isOnCurve(address: Address): boolean {
  const { PublicKey } = web3();
  return PublicKey.isOnCurve(new PublicKey(address).toBytes());
}

/** Where a wallet holds a token: the address is derived from owner, token program and mint. */
export function associatedTokenAddress(owner: Address, mint: Address, program: Address): Address {
  const { PublicKey } = web3();
  const [address] = PublicKey.findProgramAddressSync(
    [owner, program, mint].map((part) => new PublicKey(part).toBytes()),
    new PublicKey(ASSOCIATED_TOKEN_PROGRAM),
  );
  return address.toBase58();
}
