/** The part of pino's logger that is used here. */
export interface Logger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export const silentLogger: Logger = { info: () => {}, warn: () => {} };
