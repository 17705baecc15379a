/** Run once before and after all specs. */
export {};
