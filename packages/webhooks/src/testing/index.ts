export * from './certificates.ts';
export * from './secureReceiver.ts';
