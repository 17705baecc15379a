/** The time, given to whoever needs it. Deciders get instants in their commands instead. */
export type Clock = () => Date;

export const systemClock: Clock = () => new Date();
