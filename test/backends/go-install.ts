/** Programs that Go builds from their published modules, once, into the cache. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder, findProgram, isProgram } from './program.ts';

const run = promisify(execFile);

/** The path of the program. Undefined without Go. @throws the error of the build */
export async function builtByGo(parameters: {
  name: string;
  /** The path of its package, without the version. */
  module: string;
  version: string;
}): Promise<string | undefined> {
  const { name, module, version } = parameters;
  const folder = join(cacheFolder(), `${name}-${version}`);
  const program = join(folder, name);
  if (await isProgram(program)) return program;
  const go = await findProgram('go');
  if (go === undefined) return undefined;
  process.stderr.write(`Building ${name} ${version} with go install, once, into ${folder}\n`);
  await mkdir(folder, { recursive: true });
  // Build in a temporary folder, because another test run may build at the same time.
  const making = await mkdtemp(join(folder, 'making-'));
  try {
    const env = { ...process.env, GOBIN: making };
    await run(go, ['install', `${module}@v${version}`], { env, maxBuffer: 1 << 24 });
    await rename(join(making, name), program);
  } finally {
    await rm(making, { recursive: true, force: true });
  }
  return program;
}
