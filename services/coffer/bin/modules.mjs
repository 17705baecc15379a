// For the program's threads alike: Node resolves each import anew, and asks the file system each time.
import { registerHooks } from 'node:module';

/**
 * Takes a quarter of the processor time off the loading of modules. An import by a path names its file, whoever wrote it, and
 * all files of a package of ours find the same packages. ADR 0061.
 */
export function resolveModulesOnce() {
  const packages = new Map();
  registerHooks({
    resolve(specifier, context, resolve) {
      const { parentURL: importer = '', conditions } = context;
      if (specifier.startsWith('.')) {
        // What is required by a path may be a folder, or lack its extension.
        if (!conditions.includes('import')) return resolve(specifier, context);
        const { href: url } = new URL(specifier, importer);
        const format = url.endsWith('.ts') ? 'module-typescript' : undefined;
        return { url, format, shortCircuit: true };
      }
      if (!importer.endsWith('.ts')) return resolve(specifier, context);
      const key = `${specifier} ${importer.slice(0, importer.lastIndexOf('/src/'))}`;
      const known = packages.get(key);
      if (known) return known;
      const found = { ...resolve(specifier, context), shortCircuit: true };
      packages.set(key, found);
      return found;
    },
  });
}
