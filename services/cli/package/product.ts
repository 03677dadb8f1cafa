/** The sources of the product, and the manifest of the npm package that they become. */
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { sourceFiles } from '@anneal/runtime/service/built-folder.ts';
import { manifestOf, type PackageManifest, type ProductManifest } from './manifest.ts';
import { loadedSources, type PackageFolders } from './sources.ts';

export const productRoot = join(import.meta.dirname, '../../..');

/** The programs that users or other programs start. */
const programs = ['services/*/main.ts', 'deploy/lab/main.ts'];
/** Packages of which the product needs only what they have built. */
const built = ['services/console', 'services/docs'];

export const textOfProduct = (path: string): Promise<string> => readFile(join(productRoot, path), 'utf8');
export const productFiles = (patterns: readonly string[]): Promise<string[]> => sourceFiles(productRoot, patterns);
const manifestIn = async (folder: string): Promise<PackageManifest> =>
  JSON.parse(await textOfProduct(join(folder, 'package.json'))) as PackageManifest;

/** @throws when a source names a file that does not exist */
export async function readProduct(): Promise<{
  readonly sources: ReadonlyMap<string, string>;
  readonly folders: PackageFolders;
  readonly manifest: ProductManifest;
}> {
  const root = await manifestIn('.');
  const found = await productFiles((root.workspaces ?? []).map((pattern) => `${pattern}/package.json`));
  const packages = await Promise.all(
    found.map(async (path) => ({ folder: dirname(path), manifest: await manifestIn(dirname(path)) })),
  );
  const folders: PackageFolders = new Map(packages.map(({ folder, manifest }) => [manifest.name, folder]));
  const sources = await loadedSources({ programs: await productFiles(programs), folders, textOf: textOfProduct });
  const loaded = packages.filter(
    ({ folder }) => !built.includes(folder) && [...sources.keys()].some((path) => path.startsWith(`${folder}/`)),
  );
  return { sources, folders, manifest: manifestOf({ root, packages: loaded.map(({ manifest }) => manifest) }) };
}
