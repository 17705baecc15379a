export {
  createStoreGateway,
  type StoreGateway,
  type StoreGatewayOptions,
} from './storeGateway.ts';
