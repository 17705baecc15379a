/** web3.js, loaded when it is first used: a service without a chain does without it. ADR 0061. */
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

export const web3 = (): typeof import('@solana/web3.js') => require('@solana/web3.js');
