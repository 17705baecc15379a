import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** For the processes of the specs, which load mostly the same modules. It outlives the run, so it stays on the disk. */
export const COMPILE_CACHE = process.env.NODE_COMPILE_CACHE ?? join(tmpdir(), 'coffer-spec-compile-cache');
