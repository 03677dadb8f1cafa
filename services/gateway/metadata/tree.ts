/** Folders of texts, as metadata services serve them: a folder lists its names, one a line. Pure. */

export interface Folder {
  readonly [name: string]: Entry;
}
export type Entry = string | Folder;

/** Versions are listed as EC2 and Nova list them, without `/`: clients compare the names. */
const version = /^(?:\d{4}-\d{2}-\d{2}|1\.0|latest)$/;

/**
 * The text at a path, or the list of a folder. Other folders end with `/`. A folder with `=` in its name, such as `0=mykey`, has
 * the part before it as address. Undefined where there is nothing.
 */
export function readTree(tree: Folder, path: readonly string[]): string | undefined {
  let entry: Entry | undefined = tree;
  for (const part of path) {
    if (part === '') continue;
    if (typeof entry === 'string' || entry === undefined) return undefined;
    entry = within(entry, part);
  }
  if (typeof entry !== 'object') return entry;
  const names = Object.entries(entry).map(([name, inside]) =>
    typeof inside === 'string' || name.includes('=') || version.test(name) ? name : `${name}/`,
  );
  return names.join('\n');
}

const within = (folder: Folder, part: string): Entry | undefined =>
  Object.hasOwn(folder, part)
    ? folder[part]
    : Object.entries(folder).find(([name]) => name.startsWith(`${part}=`))?.[1];
