export { operatorWallet, operatorWalletIdOf } from './domain/operatorWallet.ts';
export { createOperatorWallets, type OperatorWallets } from './operatorWallets.ts';
