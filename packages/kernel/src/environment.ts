import { z } from 'zod';

/** The two isolated worlds of an app. The credential decides which; a parameter never does. */
export const environment = z.enum(['test', 'live']);
export type Environment = z.infer<typeof environment>;
