// A thread of the service, with its own modules: src/serviceThread.ts starts it.
import { resolveModulesOnce } from './modules.mjs';

resolveModulesOnce();
await import('../src/serviceThreadMain.ts');
