/** As long as the path of a bet below the base address. */
export const NOOP_PATH = '/bench/noop';
