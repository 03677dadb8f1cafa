/** Programs on this machine: on the PATH, or in the folder with the programs that tests have built. */
import { access, constants } from 'node:fs/promises';
import { homedir, platform } from 'node:os';
import { delimiter, join } from 'node:path';

export const isProgram = (file: string): Promise<boolean> =>
  access(file, constants.X_OK).then(
    () => true,
    () => false,
  );

/** The first executable with this name: in `folders`, in order, else on the PATH. */
export async function findProgram(name: string, folders: readonly string[] = []): Promise<string | undefined> {
  for (const folder of [...folders, ...(process.env['PATH'] ?? '').split(delimiter)]) {
    if (folder !== '' && (await isProgram(join(folder, name)))) return join(folder, name);
  }
  return undefined;
}

/** Stays between runs. */
export function cacheFolder(): string {
  const system =
    platform() === 'darwin'
      ? join(homedir(), 'Library', 'Caches')
      : (process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'));
  return join(system, 'anneal', 'backends');
}
