/** The files of `infra/`, and what they name in the code. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { roles } from '@coffer/host';
import { startScript } from '@coffer/testing';
import { z } from 'zod';
import { configFrom, needMasterKeys } from '../../services/coffer/src/config.ts';
import { ROOT } from '../docs/contexts.ts';
import { configuredVariables } from '../docs/variables.ts';

/** The files, by their names below `infra/`: what a spec can break. */
export interface InstallationFiles {
  readonly 'compose.yaml': string;
  readonly Dockerfile: string;
  readonly 'Dockerfile.dockerignore': string;
  readonly '.env.example': string;
  readonly 'certificates.sh': string;
}

export interface CodeFacts {
  readonly roles: readonly string[];
  readonly variables: readonly string[];
  readonly needsMasterKeys: (roles: readonly string[]) => boolean;
  /** The version of the packaged Node, as `24.1.2`. */
  readonly nodeVersion: string;
  /** Node's, as `npm start` gives them. */
  readonly startFlags: readonly string[];
  /** Whether a path from the root of the repository exists. */
  readonly exists: (path: string) => boolean;
  /** Throws with every problem of an environment, as a start does. */
  readonly checkEnvironment: (environment: Readonly<Record<string, string>>) => void;
}

export function readInstallationFiles(): InstallationFiles {
  const read = (name: keyof InstallationFiles) => readFileSync(join(ROOT, 'infra', name), 'utf8');
  return {
    'compose.yaml': read('compose.yaml'),
    Dockerfile: read('Dockerfile'),
    'Dockerfile.dockerignore': read('Dockerfile.dockerignore'),
    '.env.example': read('.env.example'),
    'certificates.sh': read('certificates.sh'),
  };
}

const manifest = z.object({ dependencies: z.object({ node: z.string() }) });

export function readCodeFacts(): CodeFacts {
  const { dependencies } = manifest.parse(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')));
  return {
    roles,
    variables: configuredVariables(),
    needsMasterKeys: (names) => needMasterKeys(roles.filter((role) => names.includes(role))),
    nodeVersion: dependencies.node,
    startFlags: startScript().flags,
    exists: (path) => existsSync(join(ROOT, path)),
    checkEnvironment: configFrom,
  };
}
