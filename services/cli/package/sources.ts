/**
 * The sources of the product as JavaScript. Node runs no TypeScript below `node_modules`, where npm puts a package, so the
 * package has the same files with the types taken out. Lines and columns stay, so a stack trace names the places of the
 * sources. Imports of our own packages become relative.
 */
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join, relative } from 'node:path/posix';

/** A quoted name of a TypeScript file: in an import, or in the address of a worker or a program. */
const quotedSource = /(?<quote>['"])(?<name>[^'"\n]*\.ts)\k<quote>/g;
/** The names that are addresses, and not the end of a path that the program puts together. */
const addressed = /(?:\bfrom\s*|\bimport\s*\(?\s*|\bnew URL\(\s*)(?<quote>['"])(?<name>[^'"\n]*\.ts)\k<quote>/g;

/** The folder of each of our packages: `@anneal/bus` is in `libs/bus`. */
export type PackageFolders = ReadonlyMap<string, string>;

export const asJavaScript = (path: string): string => path.replace(/\.ts$/, '.js');

/** The path of the file that a name in the file `from` means. */
function pathOf(name: string, from: string, folders: PackageFolders): string {
  const [scope, own, ...rest] = name.split('/');
  const folder = scope === '@anneal' ? folders.get(`@anneal/${own}`) : undefined;
  return folder === undefined ? join(dirname(from), name) : join(folder, ...rest);
}

/** The TypeScript files that a file names, by their paths from the root of the repository. */
function namedSources(text: string, from: string, folders: PackageFolders): string[] {
  return [...text.matchAll(addressed)].map(({ groups }) => pathOf(groups?.['name'] ?? '', from, folders));
}

/**
 * The texts of the programs and of every source that they load, by path.
 * @throws when a source names a file that does not exist
 */
export async function loadedSources(parameters: {
  programs: readonly string[];
  folders: PackageFolders;
  textOf: (path: string) => Promise<string>;
}): Promise<Map<string, string>> {
  const { programs, folders, textOf } = parameters;
  const texts = new Map<string, string>();
  const paths = new Set(programs);
  // The set grows while it is read.
  for (const path of paths) {
    const text = await textOf(path);
    texts.set(path, text);
    for (const named of namedSources(text, path, folders)) paths.add(named);
  }
  return texts;
}

/** The JavaScript of a source. @throws when it has syntax that does more than declare types */
export function toJavaScript(text: string, from: string, folders: PackageFolders): string {
  const plain = from.endsWith('.ts') ? stripTypeScriptTypes(text) : text;
  return plain.replace(quotedSource, (_, quote: string, name: string) => {
    if (!name.startsWith('@anneal/')) return quote + asJavaScript(name) + quote;
    const path = relative(dirname(from), asJavaScript(pathOf(name, from, folders)));
    return `${quote}${path.startsWith('.') ? path : `./${path}`}${quote}`;
  });
}
