/** For specs of other packages: reactions without the process that runs them. */
export { actOnAllOwed } from './actOnAllOwed.ts';
