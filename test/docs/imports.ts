/** The packages of this repository, and the files to which imports lead. */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

const root = join(import.meta.dirname, '../..');

/** The folder of each package, by its name. */
export const packageFolders: ReadonlyMap<string, string> = new Map(
  globSync(['{libs,services}/*/package.json', 'deploy/lab/package.json'], { cwd: root }).map((file) => {
    const { name } = JSON.parse(readFileSync(join(root, file), 'utf8')) as { name: string };
    return [name, dirname(file)];
  }),
);

/** The path from the root of what a file imports, or the name of a foreign module. */
export function importedFile(from: string, specifier: string): string {
  if (specifier.startsWith('.')) return relative(root, join(root, dirname(from), specifier));
  const [scope = '', own = ''] = specifier.split('/');
  const folder = packageFolders.get(`${scope}/${own}`);
  return folder === undefined ? specifier : join(folder, specifier.slice(scope.length + own.length + 2));
}
