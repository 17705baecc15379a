/** Why a transaction is not signed. These words are in answers and in docs/api.md. */
const REFUSAL_REASONS = [
  'wallet_not_signer',
  'other_signer',
  'own_key_signer',
  'fee_payer_signature',
  'nothing_to_do',
  'unknown_instruction',
  'refused_program',
  'authority_change',
  'approval',
  'burn',
  'multisig',
  'account_assignment',
  'nonce',
  'close_to_other',
  'close_sponsored',
  'lamports_to_other',
  'authority_not_wallet',
  'lookup_table_frozen',
  'priority_fee',
  'rent_of_others',
  'wallet_reassigned',
  'account_handed_over',
  'unexplained_outflow',
] as const;

export type RefusalReason = (typeof REFUSAL_REASONS)[number];
