/** What the documents must have: a well-formed changelog, a README per package, working links. */
import { posix } from 'node:path';
import { eachFile, type Finding, file, lineAt, type Rule, type SourceFile } from './rule.ts';

const CHANGE_KINDS = ['Breaking', 'Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security'];

/** Every section is `Unreleased` or a version with its date; its parts follow the order of `CHANGE_KINDS`. */
function changelogFindings({ path, text }: SourceFile): readonly Finding[] {
  const findings: Finding[] = [];
  const lines = text.split('\n');
  const sections = lines.filter((line) => line.startsWith('## '));
  if (lines[0] !== '# Changelog')
    findings.push({ path, line: 1, found: 'does not begin with "# Changelog"' });
  if (sections[0] !== '## [Unreleased]') {
    findings.push({ path, line: 1, found: 'does not have "## [Unreleased]" as its first section' });
  }
  let last = -1;
  for (const [index, line] of lines.entries()) {
    const complain = (found: string) => findings.push({ path, line: index + 1, found });
    if (line.startsWith('## ')) {
      last = -1;
      if (!/^## \[(?:Unreleased|\d+\.\d+\.\d+)\](?: - \d{4}-\d{2}-\d{2})?$/.test(line)) complain(line);
    } else if (line.startsWith('### ')) {
      const kind = CHANGE_KINDS.indexOf(line.slice(4));
      if (kind < 0) complain(`${line}: the kinds are ${CHANGE_KINDS.join(', ')}`);
      else if (kind <= last) complain(`${line}: the order of the kinds is ${CHANGE_KINDS.join(', ')}`);
      last = Math.max(last, kind);
    }
  }
  return findings;
}

const changelogShape: Rule = {
  title: 'keeps the changelog well-formed',
  why: 'people who run Coffer read it before they upgrade: breaking changes first, each with its reason.',
  instead: `"# Changelog", then "## [Unreleased]", then "### " parts among ${CHANGE_KINDS.join(', ')}, in that order.`,
  find: (files) => {
    const changelog = files.find(({ path }) => path === 'CHANGELOG.md');
    return changelog
      ? changelogFindings(changelog)
      : [{ path: 'CHANGELOG.md', line: 1, found: 'is missing' }];
  },
  refuses: [
    [],
    [file('CHANGELOG.md', '# Changelog\n\n## [1.0.0] - 2026-01-31\n')],
    [file('CHANGELOG.md', '# Changelog\n\n## [Unreleased]\n\n### Improved\n')],
    [file('CHANGELOG.md', '# Changelog\n\n## [Unreleased]\n\n### Fixed\n\n### Breaking\n')],
  ],
  accepts: [
    [
      file(
        'CHANGELOG.md',
        '# Changelog\n\n## [Unreleased]\n\n### Breaking\n\n### Added\n\n## [1.0.0] - 2026-01-31\n\n### Added\n',
      ),
    ],
  ],
};

const packagesExplained: Rule = {
  title: 'gives every package a README',
  why: "a folder that does not say what it is for collects what does not belong there; a package's words are defined once, in its README.",
  instead: 'write a README.md next to package.json: what the package is, its words, its public face.',
  find: (files) => {
    const paths = new Set(files.map(({ path }) => path));
    return files
      .filter(({ path }) => /^(?:packages|services)\/[^/]+\/package\.json$/.test(path))
      .filter(({ path }) => !paths.has(path.replace('package.json', 'README.md')))
      .map(({ path }) => ({ path, line: 1, found: 'has no README.md next to it' }));
  },
  refuses: [[file('packages/http/package.json', '{}')]],
  accepts: [[file('packages/http/package.json', '{}'), file('packages/http/README.md', '# http\n')]],
};

/** The target of every link in a document to a path in the repository, with its line. */
function linksOf({ path, text }: SourceFile): readonly { target: string; line: number }[] {
  return [...text.matchAll(/\]\((?!\w+:|#)([^)#\s]+)/g)].map((match) => ({
    target: posix.join(posix.dirname(path), match[1] ?? ''),
    line: lineAt(text, match.index),
  }));
}

const linksLead: Rule = {
  title: 'links only to what exists',
  why: 'a dead link stops readers just when they want to know more.',
  instead: 'link the file by its path from the document, or remove the link.',
  find: (files) => {
    const paths = new Set(files.map(({ path }) => path));
    // A link to a folder shows its README.
    const isThere = (target: string) => paths.has(target) || paths.has(posix.join(target, 'README.md'));
    return files
      .filter(({ path }) => path.endsWith('.md'))
      .flatMap((source) =>
        linksOf(source)
          .filter(({ target }) => !isThere(target))
          .map(({ target, line }) => ({ path: source.path, line, found: `links to ${target}` })),
      );
  },
  refuses: [[file('docs/README.md', 'Read [this](architecture.md).\n')]],
  accepts: [
    [
      file('docs/README.md', '[a](adr/), [b](../README.md#run-it), [c](https://example.com/d), [e](#f)\n'),
      file('docs/adr/README.md', '# Decisions\n'),
      file('README.md', '# Coffer\n'),
    ],
  ],
};

/** A row after a blank line, without a header and its dashes: it is rendered as text with bars. */
function cutRows({ path, text }: SourceFile): readonly Finding[] {
  const lines = text.split('\n');
  return lines.flatMap((line, index) => {
    const begins = line.startsWith('|') && !lines[index - 1]?.startsWith('|');
    if (!begins || /^\|[ :|-]+$/.test(lines[index + 1] ?? '')) return [];
    return [{ path, line: index + 1, found: 'a row without a table header' }];
  });
}

const tablesWhole: Rule = {
  title: 'leaves every table in one piece',
  why: 'a blank line ends a table: the rows after it are rendered as text with bars.',
  instead: 'remove the blank line, or give the rows after it their own header.',
  find: eachFile((path) => path.endsWith('.md'), cutRows),
  refuses: [[file('docs/api.md', '| a |\n|---|\n| 1 |\n\n| 2 |\n')]],
  accepts: [[file('docs/api.md', '| a |\n|---|\n| 1 |\n\n| b |\n| --- |\n| 2 |\n')]],
};

/** Rows of the map that begin like an earlier one. */
const mapSaysOnce: Rule = {
  title: 'has one row for each purpose in the map of the documents',
  why: 'with two rows for one purpose, the reader takes the first and misses what only the second names.',
  instead: 'merge them into one row in docs/README.md.',
  find: eachFile(
    (path) => path === 'docs/README.md',
    ({ path, text }) => {
      const firstCells = text.split('\n').map((line) => /^\| ([^|]+) \|/.exec(line)?.[1]);
      return firstCells.flatMap((cell, index) =>
        cell !== undefined && firstCells.indexOf(cell) < index
          ? [{ path, line: index + 1, found: cell }]
          : [],
      );
    },
  ),
  refuses: [[file('docs/README.md', '| You want to | Read |\n|---|---|\n| run it | a |\n| run it | b |\n')]],
  accepts: [[file('docs/README.md', '| You want to | Read |\n|---|---|\n| run it | a |\n| stop it | a |\n')]],
};

export const documentRules: readonly Rule[] = [
  changelogShape,
  packagesExplained,
  linksLead,
  tablesWhole,
  mapSaysOnce,
];
