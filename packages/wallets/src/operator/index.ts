export {
  type OperatorWalletEvent,
  type OperatorWalletRole,
  operatorWalletEvents,
} from './domain/operatorWallet.events.ts';
export {
  type OperatorWalletOwner,
  operatorWallet,
  operatorWalletIdOf,
  operatorWalletStreamName,
} from './domain/operatorWallet.ts';
export { createOperatorWallets, type OperatorWallet, type OperatorWallets } from './operatorWallets.ts';
