/** Files that a user names: their text, and the reason in words when one cannot be read or written. */
import { parseExact } from '@anneal/contracts/read-json.ts';
import { existsSync } from 'node:fs';
import { open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Json } from '@anneal/contracts/json.ts';

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'no permission',
  EPERM: 'no permission',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of its path is a file',
  EEXIST: 'it exists',
  ENAMETOOLONG: 'its name is too long',
  ENOSPC: 'the disk is full',
  EROFS: 'the file system is read-only',
};

/** The reason for an error of a file, in words. */
export function whyUnusable(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
  return reasons[code] ?? code;
}

/**
 * The path of a file that a user names.
 * @throws AnnealError InvalidRequest for an empty name, as of an unset variable of a script: it would be the folder itself
 */
export function pathOf(file: string, cwd: string): string {
  if (file === '') throw new AnnealError('InvalidRequest', 'The name of a file is empty.');
  return resolve(cwd, file);
}

/** Refuses a folder, because a stream of one fails without its name. @throws Error of the system; AnnealError InvalidRequest */
export async function refuseFolder(path: string): Promise<void> {
  if ((await stat(path)).isDirectory()) throw new AnnealError('InvalidRequest', `Cannot open ${path}: it is a folder.`);
}

/** The text of a file, or of standard input for `-`. @throws AnnealError InvalidRequest */
export async function readText(file: string, cwd: string): Promise<string> {
  return readFile(file === '-' ? '/dev/stdin' : pathOf(file, cwd), 'utf8').catch((error: unknown) => {
    throw new AnnealError('InvalidRequest', `Cannot read ${file}: ${whyUnusable(error)}.`, { cause: error });
  });
}

/** The value in a file of JSON. @throws AnnealError InvalidRequest */
export async function readJsonFile(file: string, cwd: string): Promise<Json> {
  const text = await readText(file, cwd);
  try {
    return parseExact(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new AnnealError('InvalidRequest', `${file} is not JSON: ${reason}.`, { cause: error });
  }
}

/** The value in a file of YAML or JSON. @throws AnnealError InvalidRequest */
export async function readYamlFile(file: string, cwd: string): Promise<unknown> {
  const text = await readText(file, cwd);
  // Few commands need the package.
  const { parseDocument } = await import('yaml');
  const document = parseDocument(text);
  const [mistake] = document.errors;
  if (mistake) throw new AnnealError('InvalidRequest', `${file} is not YAML: ${mistake.message}`);
  return document.toJS();
}

/**
 * Writes what `make` returns. The file is opened before, so that what cannot be made again is not lost to a wrong name; it
 * replaces the one of before at its end. Only its owner may read it.
 */
export async function writeMade(file: string, cwd: string, make: () => Promise<string>): Promise<void> {
  const path = pathOf(file, cwd);
  // A folder cannot be replaced by a file.
  if (existsSync(path)) await refuseFolder(path);
  const beside = `${path}.part`;
  const handle = await open(beside, 'w', 0o600);
  try {
    await handle.writeFile(await make());
    await rename(beside, path);
  } catch (error) {
    await rm(beside, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
}

/** An error of the system about a file as one that names the file and the reason; undefined for any other error. */
export function fileFailure(error: unknown): AnnealError | undefined {
  if (!(error instanceof Error) || error instanceof AnnealError) return undefined;
  const { code = '', path, syscall = '' } = error as NodeJS.ErrnoException;
  if (path === undefined || !/^E[A-Z]+$/.test(code)) return undefined;
  const verb = ['read', 'stat'].includes(syscall) ? 'read' : 'open';
  const why = code === 'ENOENT' && !existsSync(dirname(path)) ? 'its folder does not exist' : whyUnusable(error);
  return new AnnealError('InvalidRequest', `Cannot ${verb} ${path}: ${why}.`, { cause: error });
}
