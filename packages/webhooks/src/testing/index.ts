export * from './bareClient.ts';
export * from './certificates.ts';
export * from './secureReceiver.ts';
