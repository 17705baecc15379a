export { authContext, refreshKeyFrom } from './context.ts';
export * from './identities/index.ts';
export * from './methods/index.ts';
export * from './migrations.ts';
export * from './sessions/index.ts';
export * from './types.ts';
