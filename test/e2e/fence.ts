/** The fencing program of an operator: it notes what it is asked, and fails until the plug is pulled. */
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Fence {
  /** The file of the program. */
  readonly program: string;
  /** A line for each question that the program was asked so far. */
  asked(): Promise<string>;
  /** From now on the program confirms that a machine is off. */
  pull(): Promise<void>;
  remove(): Promise<void>;
}

export async function makeFence(): Promise<Fence> {
  const folder = await mkdtemp(join(tmpdir(), 'anneal-fence-'));
  const [program, asked, off] = ['fence', 'asked', 'off'].map((name) => join(folder, name)) as [string, string, string];
  await writeFile(program, `#!/bin/sh\necho "$@" >> ${asked}\n[ -e ${off} ]\n`);
  await chmod(program, 0o755);
  return {
    program,
    asked: () => readFile(asked, 'utf8').catch(() => ''),
    pull: () => writeFile(off, ''),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
