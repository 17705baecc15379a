/** Gives lamports and tokens away: ordinary transactions, signed by the chain's own key. */
import { createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';
import { decodeBase58Address, encodeBase58 } from '@coffer/kernel';
import { ASSOCIATED_TOKEN_PROGRAM, associatedTokenAddress } from '@coffer/solana';
import { MAXIMUM_TRANSACTION_BYTES } from './wire.ts';

const SYSTEM_PROGRAM = '1'.repeat(32);
const COMPUTE_BUDGET_PROGRAM = 'ComputeBudget111111111111111111111111111111';
/** The prefix of an Ed25519 private key in PKCS #8. */
const KEY_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

interface AccountMeta {
  readonly address: string;
  readonly isWritable: boolean;
}

interface Instruction {
  readonly program: string;
  readonly accounts: readonly AccountMeta[];
  readonly data: Uint8Array;
}

export type Faucet = ReturnType<typeof createFaucet>;

export function createFaucet(seed: Uint8Array) {
  const key = createPrivateKey({ key: Buffer.concat([KEY_PREFIX, seed]), format: 'der', type: 'pkcs8' });
  const publicKey = publicKeyOf(key);
  const address = encodeBase58(publicKey);
  let count = 0;

  const transaction = (blockhash: string, instructions: readonly Instruction[]) => {
    // Two equal gifts in one slot would be one transaction: the compute unit limit makes them differ.
    count = (count + 1) % 1_000_000;
    const message = messageOf(address, blockhash, [unitLimit(300_000 + count), ...instructions]);
    const bytes = Buffer.concat([Buffer.of(1), sign(null, message, key), message]);
    if (bytes.length > MAXIMUM_TRANSACTION_BYTES) throw new Error('the faucet made too large a transaction');
    return bytes;
  };
  return {
    address,
    publicKey,
    lamportsTo: (recipient: string, lamports: bigint, blockhash: string) => {
      const data = Buffer.alloc(12);
      data.writeUInt32LE(2, 0);
      data.writeBigUInt64LE(lamports, 4);
      const accounts = [writable(address), writable(recipient)];
      return transaction(blockhash, [{ program: SYSTEM_PROGRAM, accounts, data }]);
    },
    /** Creates the associated token account unless it exists. The faucet must have mint authority. */
    tokensTo: (gift: { owner: string; mint: string; program: string; amount: bigint }, blockhash: string) => {
      const { owner, mint, program, amount } = gift;
      const account = associatedTokenAddress(owner, mint, program);
      const create: Instruction = {
        program: ASSOCIATED_TOKEN_PROGRAM,
        accounts: [
          ...[writable(address), writable(account), readonly(owner), readonly(mint)],
          ...[readonly(SYSTEM_PROGRAM), readonly(program)],
        ],
        data: Buffer.of(1),
      };
      const data = Buffer.alloc(9);
      data.writeUInt8(7, 0);
      data.writeBigUInt64LE(amount, 1);
      const mintTo = { program, accounts: [writable(mint), writable(account), readonly(address)], data };
      return transaction(blockhash, [create, mintTo]);
    },
  };
}

const writable = (address: string): AccountMeta => ({ address, isWritable: true });
const readonly = (address: string): AccountMeta => ({ address, isWritable: false });

function unitLimit(units: number): Instruction {
  const data = Buffer.alloc(5);
  data.writeUInt8(2, 0);
  data.writeUInt32LE(units, 1);
  return { program: COMPUTE_BUDGET_PROGRAM, accounts: [], data };
}

function publicKeyOf(key: KeyObject): Uint8Array {
  return createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-32);
}

/** A legacy message with one signer, who pays. */
function messageOf(payer: string, blockhash: string, instructions: readonly Instruction[]): Buffer {
  const metas = instructions.flatMap(({ program, accounts }) => [...accounts, readonly(program)]);
  const writes = new Set(metas.filter(({ isWritable }) => isWritable).map(({ address }) => address));
  const addresses = new Set([payer, ...writes, ...metas.map(({ address }) => address)]);
  const keys = [...addresses];
  writes.add(payer);
  const compiled = instructions.map(({ program, accounts, data }) =>
    Buffer.concat([
      Buffer.of(keys.indexOf(program), accounts.length),
      Buffer.from(accounts.map(({ address }) => keys.indexOf(address))),
      Buffer.of(data.length),
      data,
    ]),
  );
  return Buffer.concat([
    Buffer.of(1, 0, keys.length - writes.size, keys.length),
    ...keys.map(keyBytes),
    keyBytes(blockhash),
    Buffer.of(instructions.length),
    ...compiled,
  ]);
}

function keyBytes(text: string): Uint8Array {
  const bytes = decodeBase58Address(text);
  if (!bytes) throw new TypeError(`${text} is not a key`);
  return bytes;
}
