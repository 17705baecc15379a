import { fileURLToPath } from 'node:url';

/**
 * For the processes of the specs, which load mostly the same modules. It outlives the run, like the program's own, and
 * goes with the packages: it neither outlives the checkout nor grows with the number of checkouts.
 */
export const COMPILE_CACHE =
  process.env.NODE_COMPILE_CACHE ??
  fileURLToPath(new URL('../../../node_modules/.cache/coffer', import.meta.url));
