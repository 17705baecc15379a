/** For specs of other packages: events to append, and the rules that every store follows. */
export { type AppendRule, appendRules } from './appendRules.ts';
export { openBareClient } from './bareClient.ts';
export { newEvents, streamName } from './events.ts';
export { Died, type Life, mortalStore } from './mortalStore.ts';
export { answerOf, createTroubledStore } from './troubledStore.ts';
