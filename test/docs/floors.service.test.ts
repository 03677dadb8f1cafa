/**
 * Packages have floors, and so have the folders of each package: an import leads down. ARCHITECTURE.md has the floors of
 * the packages, the README of a package has those of its folders.
 */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { importedFile, packageFolders } from './imports.ts';

const root = join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const folders = [...packageFolders.values()].toSorted();
const sourcesOf = (folder: string): string[] =>
  globSync(`${folder}/**/*.{ts,tsx,mjs}`, { cwd: root, exclude: ['**/node_modules/**', '**/dist/**'] });

/** Tests and their support may use everything, and nothing uses them. The conformance of providers is a command. */
const isSupport = (path: string): boolean =>
  /\.(test|contract|soak)\.tsx?$|(^|\/)(testing|testdata)(\/|\.ts$)|^libs\/(bus|store)\/conformance\//.test(path);

interface Import {
  readonly from: string;
  readonly to: string;
}

/** The imports among the sources of this repository, those of types included, as paths from its root. */
const imports: readonly Import[] = folders
  .flatMap(sourcesOf)
  .flatMap((from) =>
    [...read(from).matchAll(/(?:^|[\s;])(?:from|import)\s*\(?\s*'((?:\.|@anneal\/)[^']+\.tsx?)'/g)].map(
      ([, specifier = '']) => ({ from, to: importedFile(from, specifier) }),
    ),
  );
const packageOf = (file: string): string | undefined => folders.find((folder) => file.startsWith(`${folder}/`));

/** Names in backquotes. */
const namesIn = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);

/** The paragraph of a README that begins with this title. */
const paragraph = (folder: string, title: string): string =>
  new RegExp(`^\\*\\*${title}\\*\\*.*\\n?(?:.+\\n)*`, 'm').exec(read(`${folder}/README.md`))?.[0] ?? '';

describe('the floors of the packages', () => {
  const rows = [...read('ARCHITECTURE.md').matchAll(/^\| (\d+) +\| (.+?) +\|/gm)];
  const floors = new Map(rows.flatMap(([, floor, names = '']) => namesIn(names).map((name) => [name, Number(floor)])));

  it('stand in ARCHITECTURE.md', () => {
    expect([...floors.keys()].toSorted()).toEqual(folders);
  });

  it('an import leads to a lower floor; of a service, the command line imports the start alone', () => {
    const isStart = /^services\/[^/]+\/(service|sources)\.ts$/;
    const wrong = imports.filter(({ from, to }) => {
      const [own, other] = [packageOf(from), packageOf(to)];
      if (isSupport(from) || own === other) return false;
      if (own === undefined || other === undefined) return true;
      if (own === 'services/cli' && other.startsWith('services/') && !isStart.test(to)) return true;
      return (floors.get(other) ?? 0) >= (floors.get(own) ?? 0);
    });
    expect(wrong).toEqual([]);
  });

  it('no source imports the support of tests', () => {
    expect(imports.filter(({ from, to }) => !isSupport(from) && isSupport(to))).toEqual([]);
  });
});

describe('the floors of the folders', () => {
  it.each(folders)('%s: an import leads down, in the order of its README', (folder) => {
    const order = namesIn(paragraph(folder, 'Floors'));
    /** The floor of a file: its own, else that of its folder, else that of all other files beside the README. */
    const floorOf = (file: string): number => {
      const path = file.slice(folder.length + 1);
      const within = order.filter((name) => name.endsWith('/') && path.startsWith(name));
      const own = order.includes(path) ? path : within.toSorted((one, other) => other.length - one.length)[0];
      return order.indexOf(own ?? (path.includes('/') ? 'no floor' : '*.ts'));
    };
    const sources = imports.filter(({ from, to }) => packageOf(from) === folder && packageOf(to) === folder);
    const files = sourcesOf(folder).filter((file) => !file.endsWith('.mjs'));
    expect(files.filter((file) => !isSupport(file) && floorOf(file) < 0)).toEqual([]);
    expect(order.filter((name) => name !== '*.ts' && globSync(join(root, folder, name)).length === 0)).toEqual([]);
    expect(sources.filter(({ from, to }) => !isSupport(from) && !isSupport(to) && floorOf(to) < floorOf(from))).toEqual(
      [],
    );
  });

  it.each(folders)('%s: a folder has at most 15 files side by side, or its README says why', (folder) => {
    const sources = sourcesOf(folder).filter((file) => !file.endsWith('.mjs'));
    const counts = new Map<string, number>();
    for (const file of sources.filter((each) => !isSupport(each))) {
      const path = dirname(file).slice(folder.length + 1);
      const name = path === '' ? '*.ts' : `${path}/`;
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    const large = [...counts].flatMap(([name, count]) => (count > 15 ? [name] : []));
    expect(namesIn(paragraph(folder, 'Large folders')).toSorted()).toEqual(large.toSorted());
  });
});
