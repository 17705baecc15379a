/** What one instruction means for our wallet: what it takes, or why it is refused. */
import type { Address, DecodedInstruction, SingleTokenInstruction } from '@coffer/solana';
import type { RefusalReason } from './reasons.ts';

/** What the transaction declares that it takes from our wallet. */
export interface Declared {
  /** For its signatures and its priority; 0 where somebody else pays. */
  readonly feeLamports: bigint;
  /** The part of it for its priority. */
  readonly priorityLamports: bigint;
  readonly lamports: readonly { readonly to: Address; readonly lamports: bigint }[];
  readonly tokens: readonly {
    readonly source: Address;
    readonly destination: Address;
    readonly amount: bigint;
  }[];
  /** Accounts created or enlarged at our wallet's cost. */
  readonly rentOf: readonly Address[];
  /** Programs that it calls and that we cannot read. */
  readonly foreignPrograms: readonly Address[];
}

export interface Terms {
  readonly refused: readonly RefusalReason[];
  readonly lamports?: Declared['lamports'];
  readonly tokens?: Declared['tokens'];
  readonly rentOf?: readonly Address[];
}

interface Side {
  readonly wallet: Address;
  /** Somebody else pays the fee. */
  readonly isSponsored: boolean;
}

const HARMLESS: Terms = { refused: [] };
const refusedFor = (...refused: readonly RefusalReason[]): Terms => ({ refused });

/** `following` are the instructions after it in the same transaction. */
export function termsOf(
  instruction: DecodedInstruction,
  side: Side,
  following: readonly DecodedInstruction[],
): Terms {
  switch (instruction.program) {
    case 'system':
      return systemTerms(instruction, side, following);
    case 'token':
      return instruction.name === 'Batch'
        ? batchTerms(instruction.instructions, side)
        : tokenTerms(instruction, side);
    case 'associatedToken':
      return { refused: [], rentOf: instruction.payer === side.wallet ? [instruction.account] : [] };
    case 'lookupTable':
      return lookupTableTerms(instruction, side);
    case 'computeBudget':
    case 'memo':
    case 'foreign':
      return HARMLESS;
    case 'unread':
      return refusedFor('unknown_instruction');
  }
}

function systemTerms(
  instruction: Extract<DecodedInstruction, { program: 'system' }>,
  { wallet }: Side,
  following: readonly DecodedInstruction[],
): Terms {
  switch (instruction.name) {
    case 'Transfer': {
      const { from, to, lamports } = instruction;
      return { refused: [], lamports: from === wallet ? [{ to, lamports }] : [] };
    }
    case 'CreateAccountWithSeed':
      return isInitializedFor(wallet, instruction, following) ? HARMLESS : refusedFor('account_assignment');
    case 'CreateAccount':
    case 'Assign':
    case 'Allocate':
    case 'AllocateWithSeed':
    case 'AssignWithSeed':
    case 'TransferWithSeed':
      return refusedFor('account_assignment');
    case 'AdvanceNonceAccount':
    case 'WithdrawNonceAccount':
    case 'InitializeNonceAccount':
    case 'AuthorizeNonceAccount':
    case 'UpgradeNonceAccount':
      return refusedFor('nonce');
  }
}

/**
 * A new account that belongs to a program goes to whoever the program lets claim it: the token programs, like others,
 * accept the first claim without a signature. If the same transaction initializes it for the wallet, it is the wallet's
 * or the whole transaction fails; its contents are still ours, and no instruction has sent them to anybody.
 */
function isInitializedFor(
  wallet: Address,
  { created, owner }: Extract<DecodedInstruction, { name: 'CreateAccountWithSeed' }>,
  following: readonly DecodedInstruction[],
): boolean {
  const tokens = following.filter((one) => one.program === 'token');
  return tokens
    .flatMap((one) => (one.name === 'Batch' ? one.instructions : [one]))
    .some(
      (one) =>
        one.name === 'InitializeAccount' &&
        one.programId === owner &&
        one.account === created &&
        one.owner === wallet,
    );
}

function batchTerms(instructions: readonly SingleTokenInstruction[], side: Side): Terms {
  const parts = instructions.map((one) => tokenTerms(one, side));
  return {
    refused: parts.flatMap(({ refused }) => refused),
    tokens: parts.flatMap(({ tokens = [] }) => tokens),
  };
}

function tokenTerms(instruction: SingleTokenInstruction, side: Side): Terms {
  // Signing as one of several for a shared account: nothing says whose it is or who else has to sign.
  if ('rest' in instruction && instruction.rest.includes(side.wallet)) return refusedFor('multisig');

  switch (instruction.name) {
    case 'Transfer':
    case 'TransferChecked':
    case 'TransferCheckedWithFee': {
      const { source, destination, amount, authority } = instruction;
      return { refused: [], tokens: authority === side.wallet ? [{ source, destination, amount }] : [] };
    }
    case 'CloseAccount':
      return closeTerms(instruction, side);
    case 'WithdrawExcessLamports':
    case 'UnwrapLamports': {
      const { destination, authority } = instruction;
      if (authority !== side.wallet) return refusedFor('authority_not_wallet');
      return destination === side.wallet ? HARMLESS : refusedFor('lamports_to_other');
    }
    case 'Revoke':
    case 'SyncNative':
    case 'InitializeImmutableOwner':
    case 'InitializeAccount':
      return HARMLESS;
    case 'SetAuthority':
      return refusedFor('authority_change');
    case 'InitializeMultisig':
      return refusedFor('multisig');
    case 'Approve':
    case 'ApproveChecked':
      return refusedFor('approval');
    case 'Burn':
    case 'BurnChecked':
      return refusedFor('burn');
  }
}

/** If somebody else has paid the rent, closing would keep it, again and again if it were signed. */
function closeTerms(
  { destination, authority }: Extract<SingleTokenInstruction, { name: 'CloseAccount' }>,
  { wallet, isSponsored }: Side,
): Terms {
  if (isSponsored) return refusedFor('close_sponsored');
  if (authority !== wallet) return refusedFor('authority_not_wallet');
  return destination === wallet ? HARMLESS : refusedFor('close_to_other');
}

function lookupTableTerms(
  instruction: Extract<DecodedInstruction, { program: 'lookupTable' }>,
  { wallet, isSponsored }: Side,
): Terms {
  switch (instruction.name) {
    case 'CreateLookupTable':
    case 'ExtendLookupTable': {
      const { table, payer } = instruction;
      return { refused: [], rentOf: payer === wallet ? [table] : [] };
    }
    case 'DeactivateLookupTable':
      return HARMLESS;
    case 'CloseLookupTable':
      if (isSponsored) return refusedFor('close_sponsored');
      return instruction.recipient === wallet ? HARMLESS : refusedFor('close_to_other');
    case 'FreezeLookupTable':
      // Its rent can never be recovered.
      return refusedFor('lookup_table_frozen');
  }
}
