export { type Certificate, selfSignedCertificate } from './certificate.ts';
export { RefusalError } from './refusals.ts';
export {
  createStoreGateway,
  type StoreGateway,
  type StoreGatewayOptions,
} from './storeGateway.ts';
