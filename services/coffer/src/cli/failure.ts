/** How a command ends. Source: contract, The command line. */

export const EXIT = { done: 0, refused: 1, wrongUsage: 2, noService: 3 } as const;

/** A command that did not do what was asked. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
  readonly exitCode: number;

  constructor(exitCode: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

export const noService = (message: string, cause?: unknown): CommandFailure =>
  new CommandFailure(EXIT.noService, message, { cause });
