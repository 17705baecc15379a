/** Programs that a transaction may call and that we never call ourselves. */
import type { Address } from '../port.ts';

export const LOOKUP_TABLE_PROGRAM: Address = 'AddressLookupTab1e1111111111111111111111111';
export const MEMO_V1_PROGRAM: Address = 'Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo';

/** They load programs and say who may replace them. */
export const LOADER_PROGRAMS: readonly Address[] = [
  'NativeLoader1111111111111111111111111111111',
  'BPFLoader1111111111111111111111111111111111',
  'BPFLoader2111111111111111111111111111111111',
  'BPFLoaderUpgradeab1e11111111111111111111111',
  'LoaderV411111111111111111111111111111111111',
];

/** They hold stakes and votes, with authorities that can be transferred. */
export const STAKING_PROGRAMS: readonly Address[] = [
  'Stake11111111111111111111111111111111111111',
  'Vote111111111111111111111111111111111111111',
];
