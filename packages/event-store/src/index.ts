export * from './commandHandler.ts';
export * from './errors.ts';
export * from './port.ts';
