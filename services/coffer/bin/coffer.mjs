#!/usr/bin/env node
// Plain JavaScript for any Node from 20 on: it only makes sure that the program runs on Node 24, which the
// repository includes as the package `node`.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import module, { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';

const MINIMUM_MAJOR = 24;
const major = Number(process.versions.node.split('.')[0]);

if (major >= MINIMUM_MAJOR) {
  leaveWithTheLauncher();
  keepCompiledCode();
  const { resolveModulesOnce } = await import('./modules.mjs');
  resolveModulesOnce();
  const { main } = await import('../src/main.ts');
  // Loaded only when needed: every other command starts without a database driver and a web server.
  const runService = async (roles) => {
    const { run } = await import('../src/run.ts');
    collectGarbageEarlier();
    collectYoungGarbageAlone();
    makeEverythingYoung();
    await run(roles);
  };
  process.exitCode = await main(process.argv.slice(2), runService);
  // Nothing is left to do by then. Node's own clean-up spins for ever on a connection to a server that was frozen.
  process.once('beforeExit', () => process.exit());
} else {
  runOnOwnNode();
}

function runOnOwnNode() {
  const folder = dirname(createRequire(import.meta.url).resolve('node/package.json'));
  const node = join(folder, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
  if (!existsSync(node)) {
    process.stderr.write(`Node ${MINIMUM_MAJOR} is missing from node_modules. Run "npm install" again.\n`);
    process.exit(1);
  }
  // The channel carries nothing: it tells the program when its launcher is gone.
  const child = spawn(node, [...process.execArgv, fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
  child.on('error', (error) => {
    process.stderr.write(`${node} cannot be started: ${error.message}\n`);
    process.exit(1);
  });
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT']) {
    process.on(signal, () => {
      // A terminal gives Ctrl-C to both processes: passed on, the program would get it twice.
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
    });
  }
  child.on('exit', (code, signal) => {
    if (!signal) process.exit(code ?? 1);
    // Whoever waits for us sees us end as the program did.
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

/**
 * On a large machine V8 lets garbage grow to several times what is alive before it collects; in a service, to two fifths of what is
 * alive: ADR 0045. Only once the code is loaded, which lives for ever: marking it while it grows takes a tenth of the
 * processor time of a start. The size of the young generation can only be set on the command line, as `npm start` does: ADR 0043.
 */
function collectGarbageEarlier() {
  setFlagsFromString('--heap-growing-percent=40');
}

/** Each thread its own, without helpers: they would have to be waited for. ADR 0063. */
function collectYoungGarbageAlone() {
  setFlagsFromString('--no-parallel-scavenge');
}

/**
 * V8 makes what a piece of code creates old from the start, for ever, once most of it outlived a collection: during a start or an
 * overload it does, and what is made for one answer then waits, with all it refers to, for a collection of the whole heap. ADR 0074.
 */
function makeEverythingYoung() {
  setFlagsFromString('--no-allocation-site-pretenuring');
}

/**
 * A start with it takes two thirds of the processor time. It is kept where only those who may change the program can
 * write, and where the next `npm ci` removes it; if nobody may write there, nothing is kept.
 */
function keepCompiledCode() {
  // In the environment also for the threads of the program.
  process.env.NODE_COMPILE_CACHE ??= fileURLToPath(
    new URL('../../../node_modules/.cache/coffer', import.meta.url),
  );
  module.enableCompileCache();
}

/** A launcher that is killed by SIGKILL takes the program with it: nobody else would know that it exists. */
function leaveWithTheLauncher() {
  if (!process.channel) return;
  process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  process.channel.unref();
}
