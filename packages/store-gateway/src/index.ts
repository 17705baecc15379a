export { type Certificate, selfSignedCertificate } from './certificate.ts';
export {
  createStoreGateway,
  type StoreGateway,
  type StoreGatewayOptions,
} from './storeGateway.ts';
