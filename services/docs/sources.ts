/** The pages of the documentation, their addresses on the site, and the built site. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sourceFiles, type BuiltFolder } from '@anneal/runtime/service/built-folder.ts';
import { pageOfDocument } from './documents.ts';

const repository = join(import.meta.dirname, '../..');

/** The address under which the gateway serves the site. */
export const docsPrefix = '/docs';

const pagePatterns = [
  'docs/**/*.md',
  'examples/**/*.md',
  '*.md',
  'deploy/*.md',
  'deploy/*/README.md',
  '{clients,libs,services}/*/README.md',
  'test/README.md',
];

export const builtDocs: BuiltFolder = {
  title: 'the documentation',
  program: join(import.meta.dirname, 'build.ts'),
  command: 'npm run build:docs',
  target: join(import.meta.dirname, 'dist'),
  root: repository,
  sources: [
    ...pagePatterns,
    ...pageOfDocument.keys(),
    'services/docs/*.{ts,json}',
    'services/docs/assets/*',
    'package-lock.json',
  ],
};

/** The text of a file of the repository. */
export const textOfSource = (path: string): Promise<string> => readFile(join(repository, path), 'utf8');

const textsOf = async (paths: readonly string[]): Promise<Map<string, string>> =>
  new Map(await Promise.all(paths.map(async (path) => [path, await textOfSource(path)] as const)));

/** The text of every written page, by its path from the root of the repository. */
export const writtenPages = async (): Promise<Map<string, string>> =>
  textsOf(await sourceFiles(repository, pagePatterns));

/** The text of every document of `pageOfDocument`, by its path. */
export const documentTexts = (): Promise<Map<string, string>> => textsOf([...pageOfDocument.keys()]);

/**
 * The address of a page on the site, below the prefix: `docs/tasks/join.md` is `tasks/join`, a README is its folder.
 * Pages outside `docs` keep their path.
 */
export function addressOfPage(path: string): string {
  const inside = path.startsWith('docs/') ? path.slice('docs/'.length) : path === 'README.md' ? 'readme.md' : path;
  const bare = inside.replace(/(^|\/)README\.md$/, '$1').replace(/\.md$/, '');
  return bare.replace(/\/$/, '');
}
