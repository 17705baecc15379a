/** Bodies as the service answers them. */

const identity = { id: 'idn_a', type: 'wallet', externalId: 'P1', profile: {} };
export const walletSummary = {
  id: 'wlt_a',
  address: 'W1',
  environment: 'test',
  custody: 'operator',
  status: 'active',
};
export const user = {
  id: 'usr_a',
  appId: 'app_a',
  primaryIdentity: identity,
  identities: [identity],
  wallets: [walletSummary],
  createdAt: '2030-01-01T00:00:00.000Z',
};

export const tokens = (generation: number, expiresAt = '2030-01-01T13:00:00.000Z') => ({
  accessToken: `access-${generation}`,
  refreshToken: `refresh-${generation}`,
  expiresAt,
});

export const pendingMove = {
  moveId: 'mov_a',
  userId: 'usr_a',
  amount: '40',
  status: 'pending',
  signature: null,
  slot: null,
  error: null,
  createdAt: '2030-01-01T12:00:00.000Z',
  updatedAt: '2030-01-01T12:00:00.000Z',
};
