/** The parts of the API in the SDK, by name: `operationId` and role, and the place in that schema. */
export const RESOURCES: Readonly<Record<string, readonly [component: string, ...path: string[]]>> = {
  OpenRequest: ['postLedgerSessionsRequest'],
  BetRequest: ['postLedgerBetRequest'],
  WinRequest: ['postLedgerWinRequest'],
  RollbackRequest: ['postLedgerRollbackRequest'],
  SettleRequest: ['postLedgerSettleRequest'],
  Opened: ['postLedgerSessionsResponse'],
  PlacedBet: ['postLedgerBetResponse'],
  CreditedWin: ['postLedgerWinResponse'],
  RolledBackBet: ['postLedgerRollbackResponse'],
  SessionBalance: ['postLedgerBalanceResponse'],
  SettledSession: ['postLedgerSettleResponse'],
  SessionDetails: ['getLedgerSessionsSessionIdResponse'],
  Transaction: ['getLedgerSessionsSessionIdTransactionsResponse', 'items'],
  ReconcileCheck: ['getLedgerReconcileResponse', 'checks'],
  Reconciled: ['getLedgerReconcileResponse'],
  InFlight: ['getLedgerReconcileResponse', 'inFlight'],
  ReconcileWarning: ['getLedgerReconcileResponse', 'warnings'],
  Totals: ['getLedgerReconcileResponse', 'totals'],
  Account: ['getUsersUserIdAccountsResponse', 'items'],
  TransferRequest: ['postTreasuryDepositRequest'],
  TreasuryBalanceRequest: ['postTreasuryBalanceRequest'],
  TreasuryMove: ['postTreasuryStatusResponse'],
  MoveError: ['postTreasuryStatusResponse', 'error'],
  TreasuryBalance: ['postTreasuryBalanceResponse'],
  Wallet: ['getWalletsMeResponse'],
  WalletBalance: ['getWalletsWalletIdBalanceResponse'],
  TokenHolding: ['getWalletsWalletIdBalanceResponse', 'tokens'],
  TransactionToSign: ['postWalletsWalletIdSignRequest'],
  SignedTransaction: ['postWalletsSignResponse'],
  Withdrawal: ['postWalletsWalletIdWithdrawRequest'],
  WalletMove: ['postWalletsWalletIdWithdrawResponse'],
  ExportPreflight: ['getWalletsWalletIdExportPreflightResponse'],
  ExportFloor: ['getWalletsWalletIdExportPreflightResponse', 'floor'],
  ExportOrder: ['postWalletsWalletIdExportRequest'],
  Exported: ['postWalletsWalletIdExportResponse'],
  Identity: ['Identity'],
  WalletSummary: ['WalletSummary'],
  User: ['User'],
  VerifiedSession: ['VerificationResult'],
  Session: ['Session'],
  SiwsChallenge: ['postAuthSiwsChallengeResponse'],
  EmailInitiated: ['postAuthEmailInitiateResponse'],
  Me: ['getMeResponse'],
};

/** Made by the SDK if the caller gives none. */
export const MADE = ['transactionUuid', 'ref', 'idempotencyKey'];

/** Base64 in the API and bytes in the SDK. */
export const BYTES = ['transaction', 'signedTransaction'];

/** Words to which a newer service may add others: `Resource.field`, if the field itself is not always one of them. */
export const OPEN = [
  'custody',
  'symbol',
  'authMethod',
  'reasons',
  'Identity.type',
  'WalletSummary.status',
  'Wallet.status',
  'Exported.status',
];
