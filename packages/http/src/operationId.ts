/** `postLedgerBet` of POST /ledger/bet; `getUsersUserIdAccounts` of GET /users/:userId/accounts. */
export function operationIdOf(method: string, path: string): string {
  const words = path.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  return method.toLowerCase() + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}
