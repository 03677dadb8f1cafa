/** Helm for tests: from the PATH, else one that Go builds once into the cache. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { MissingBackend } from './backend.ts';
import { cacheFolder, findProgram, isProgram } from './program.ts';

const version = '3.19.2';
const run = promisify(execFile);

/** The path of the program. */
export async function findHelm(): Promise<string | MissingBackend> {
  const folder = join(cacheFolder(), `helm-${version}`);
  const found = await findProgram('helm', [folder]);
  if (found !== undefined) return found;
  const go = await findProgram('go');
  if (go === undefined) return { missing: 'Helm is not here: put helm, or Go to build it, on the PATH.' };
  process.stderr.write(`Building Helm ${version} with go install, once, into ${folder}\n`);
  await mkdir(folder, { recursive: true });
  // Build in a temporary folder, because another test run may build at the same time.
  const making = await mkdtemp(join(folder, 'making-'));
  const program = join(folder, 'helm');
  try {
    const env = { ...process.env, GOBIN: making };
    await run(go, ['install', `helm.sh/helm/v3/cmd/helm@v${version}`], { env, maxBuffer: 1 << 24 });
    await rename(join(making, 'helm'), program);
  } catch (error) {
    const reason = error instanceof Error ? error.message.slice(-500) : String(error);
    return { missing: `Helm is not installed and cannot be built: ${reason}` };
  } finally {
    await rm(making, { recursive: true, force: true });
  }
  return (await isProgram(program)) ? program : { missing: 'Helm was built, and its program is not there.' };
}
