/** Apache Kafka as its Maven artifacts: fetched once into a cache outside the repository, then used from there. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const VERSION = '4.1.0';

const POM = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>coffer</groupId><artifactId>kafka-for-specs</artifactId><version>1</version>
  <dependencies><dependency>
    <groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>${VERSION}</version>
  </dependency><dependency>
    <groupId>org.apache.kafka</groupId><artifactId>kafka-tools</artifactId><version>${VERSION}</version>
  </dependency><dependency>
    <groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version>
  </dependency></dependencies>
</project>`;

const run = promisify(execFile);

/** Why no broker can be started here; undefined if one can. */
export function whyNoBroker(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const missing = ['java', 'mvn'].find((name) => !folders.some((folder) => existsSync(join(folder, name))));
  return missing === undefined ? undefined : `${missing} is not installed`;
}

/** The folder with the jars. Several processes may fetch them at once: each moves a whole folder into place. */
export async function kafkaJars(): Promise<string> {
  const cache = process.env.COFFER_TEST_CACHE ?? join(homedir(), '.cache', 'coffer');
  const folder = join(cache, `kafka-${VERSION}-with-log`);
  if (existsSync(folder)) return folder;
  const fetched = join(cache, `fetching-${randomUUID()}`);
  await mkdir(fetched, { recursive: true });
  try {
    await writeFile(join(fetched, 'pom.xml'), POM);
    const goal = ['dependency:copy-dependencies', '-DincludeScope=runtime', '-DoutputDirectory=jars'];
    await run('mvn', ['-B', '-q', ...goal], { cwd: fetched, timeout: 300_000 });
    await rename(join(fetched, 'jars'), folder).catch((error: unknown) => {
      // Another process was quicker.
      if (!existsSync(folder)) throw error;
    });
  } finally {
    await rm(fetched, { recursive: true, force: true });
  }
  return folder;
}
