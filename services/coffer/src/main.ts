/** The one program: `coffer run` and the command line. Started by `bin/coffer.mjs`, on the right Node. */
import { type RunService, runProgram } from './cli/program.ts';

/** Runs one command and returns the exit code. `runService` is supplied by the launcher, and loaded lazily. */
export function main(argv: readonly string[], runService: RunService): Promise<number> {
  process.stdout.on('error', leaveQuietly);
  return runProgram(
    argv,
    {
      variables: process.env,
      workingFolder: process.cwd(),
      stdout: process.stdout,
      stderr: process.stderr,
    },
    runService,
  );
}

/** The reader has closed the pipe, as `coffer streams export | head` does. */
function leaveQuietly(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
}
