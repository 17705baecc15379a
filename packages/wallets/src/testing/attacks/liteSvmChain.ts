/**
 * Solana's virtual machine with its programs, in this process and behind the chain port: a transaction does in it what
 * it would do on a cluster. Implements only what signing needs of a chain; all its accounts are finalized.
 */
import { readFileSync } from 'node:fs';
import { type Chain, type ChainAccount, ChainUnreachableError } from '@coffer/solana';
import {
  ACCOUNT_SIZE,
  AccountLayout,
  getAssociatedTokenAddressSync,
  MINT_SIZE,
  MintLayout,
  TOKEN_PROGRAM_ID,
} from '@solana/spl-token';
import { AddressLookupTableProgram, NONCE_ACCOUNT_LENGTH, PublicKey, SystemProgram } from '@solana/web3.js';
import { Account, LiteSvm } from 'litesvm/dist/internal.js';

/** Calls its first account with the others and its own data: see fixtures/relay.s. */
export const RELAY_PROGRAM = new PublicKey(Buffer.alloc(32, 99));

export interface LiteSvmChain extends Chain {
  readonly fund: (address: PublicKey, lamports: bigint) => void;
  /** An account from nowhere. */
  readonly plant: (address: PublicKey, lamports: bigint, data: Uint8Array, owner: PublicKey) => void;
  readonly newMint: (decimals?: number) => PublicKey;
  /** The owner's associated account, with that balance. */
  readonly giveTokens: (
    owner: PublicKey,
    mint: PublicKey,
    amount: bigint,
    tokenProgram?: PublicKey,
    closeAuthority?: PublicKey,
  ) => PublicKey;
  readonly newLookupTable: (
    addresses: readonly PublicKey[],
    given?: { readonly deactivationSlot?: bigint },
  ) => PublicKey;
  /** Holds a coin, with that authority. */
  readonly newNonce: (authority: PublicKey) => PublicKey;
  readonly blockhash: () => string;
  /** Executes it, whoever has signed. Null where it succeeded. */
  readonly execute: (wire: Uint8Array) => string | null;
  /** Number of questions so far. */
  readonly asked: readonly string[];
  /** From now on nothing answers. */
  readonly disconnect: () => void;
}

const RENT_EPOCH = 0n;
const TABLE_HEADER_BYTES = 56;
let keys = 0;
/** An address that nobody has the key to. */
export function newAddress(): PublicKey {
  keys += 1;
  const bytes = Buffer.alloc(32, 7);
  bytes.writeUInt32LE(keys);
  return new PublicKey(bytes);
}

export function createLiteSvmChain(): LiteSvmChain {
  const svm = new LiteSvm();
  svm.setSigverify(false);
  svm.setBlockhashCheck(false);
  svm.setTransactionHistory(0n);
  svm.addProgram(RELAY_PROGRAM.toBytes(), readFileSync(new URL('fixtures/relay.so', import.meta.url)));
  const asked: string[] = [];
  let isConnected = true;
  const ask = (what: string) => {
    asked.push(what);
    if (!isConnected) throw new ChainUnreachableError('The node is unreachable.');
  };

  const rentOf = (bytes: number) => svm.minimumBalanceForRentExemption(BigInt(bytes));
  const plant = (address: PublicKey, lamports: bigint, data: Uint8Array, owner: PublicKey) =>
    svm.setAccount(address.toBytes(), new Account(lamports, data, owner.toBytes(), false, RENT_EPOCH));
  const accountOf = (address: string, found: Account | null): ChainAccount | undefined =>
    found && found.lamports() > 0n
      ? {
          address,
          owner: new PublicKey(found.owner()).toBase58(),
          lamports: found.lamports(),
          data: found.data(),
          isExecutable: found.executable(),
        }
      : undefined;
  const unasked = (): never => {
    throw new Error('Signing does not ask a chain for this.');
  };

  return {
    asked,
    disconnect() {
      isConnected = false;
    },
    fund: (address, lamports) => plant(address, lamports, new Uint8Array(), SystemProgram.programId),
    plant,
    newMint(decimals = 6) {
      const mint = newAddress();
      const data = Buffer.alloc(MINT_SIZE);
      MintLayout.encode(
        {
          mintAuthorityOption: 0,
          mintAuthority: mint,
          supply: 2n ** 63n,
          decimals,
          isInitialized: true,
          freezeAuthorityOption: 0,
          freezeAuthority: mint,
        },
        data,
      );
      plant(mint, rentOf(data.length), data, TOKEN_PROGRAM_ID);
      return mint;
    },
    giveTokens(owner, mint, amount, tokenProgram = TOKEN_PROGRAM_ID, closeAuthority) {
      const address = getAssociatedTokenAddressSync(mint, owner, true, tokenProgram);
      const data = Buffer.alloc(ACCOUNT_SIZE);
      AccountLayout.encode(
        {
          mint,
          owner,
          amount,
          delegateOption: 0,
          delegate: owner,
          delegatedAmount: 0n,
          state: 1,
          isNativeOption: 0,
          isNative: 0n,
          closeAuthorityOption: closeAuthority ? 1 : 0,
          closeAuthority: closeAuthority ?? owner,
        },
        data,
      );
      plant(address, rentOf(data.length), data, tokenProgram);
      return address;
    },
    newLookupTable(addresses, { deactivationSlot = 2n ** 64n - 1n } = {}) {
      const table = newAddress();
      const data = Buffer.alloc(TABLE_HEADER_BYTES + 32 * addresses.length);
      data.writeUInt32LE(1);
      data.writeBigUInt64LE(deactivationSlot, 4);
      for (const [index, one] of addresses.entries())
        data.set(one.toBytes(), TABLE_HEADER_BYTES + 32 * index);
      plant(table, rentOf(data.length), data, AddressLookupTableProgram.programId);
      return table;
    },
    newNonce(authority) {
      const nonce = newAddress();
      const data = Buffer.alloc(NONCE_ACCOUNT_LENGTH);
      // Of the current version, initialized; then its authority, its own blockhash and a fee.
      data.writeUInt32LE(1);
      data.writeUInt32LE(1, 4);
      data.set(authority.toBytes(), 8);
      data.set(authority.toBytes(), 40);
      data.writeBigUInt64LE(5_000n, 72);
      plant(nonce, 1_000_000_000n, data, SystemProgram.programId);
      return nonce;
    },
    blockhash: () => svm.latestBlockhash(),
    execute(wire) {
      const outcome = svm.sendVersionedTransaction(wire);
      return 'err' in outcome ? outcome.toString() : null;
    },
    async accounts(addresses, commitment) {
      ask(`accounts ${commitment}`);
      return addresses.map((address) => accountOf(address, svm.getAccount(new PublicKey(address).toBytes())));
    },
    async simulate(wire, addresses) {
      ask('simulate');
      const outcome = svm.simulateVersionedTransaction(wire);
      if ('err' in outcome) {
        return {
          error: outcome.toString(),
          logs: outcome.meta().logs(),
          unitsConsumed: outcome.meta().computeUnitsConsumed(),
          accounts: [],
        };
      }
      const written = new Map(
        outcome.postAccounts().map((one) => [new PublicKey(one.address).toBase58(), one.account()]),
      );
      return {
        error: null,
        logs: outcome.meta().logs(),
        unitsConsumed: outcome.meta().computeUnitsConsumed(),
        accounts: addresses.map((address) =>
          accountOf(address, written.get(address) ?? svm.getAccount(new PublicKey(address).toBytes())),
        ),
      };
    },
    latestBlockhash: unasked,
    send: unasked,
    statuses: unasked,
    isLost: unasked,
    tokenAccountsOf: unasked,
    rentMinimum: unasked,
    recentPriorityFee: unasked,
    transactionsOf: unasked,
    transaction: unasked,
    absence: unasked,
    history: unasked,
    close: async () => undefined,
  };
}
