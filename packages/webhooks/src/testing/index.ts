export * from './bareClient.ts';
export * from './secureReceiver.ts';
