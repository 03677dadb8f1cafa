/** The real programs of a Heat host, from PyPI: os-collect-config and its companions, and the sources of heat-agents. */
import { execFile } from 'node:child_process';
import { access, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { repository } from '../../e2e/server.ts';

const run = promisify(execFile);

const packages = [
  'os-collect-config==14.1.0',
  'os-apply-config==14.1.0',
  'os-refresh-config==14.1.0',
  'dib-utils==0.0.11',
  'python-heatclient==5.3.0',
  // Newer ones lack the client of version 1.1, with which heat-config-notify posts to a queue.
  'python-zaqarclient==3.0.1',
  'boto3==1.42.0',
];
/** Only its source archive has the hooks. */
const agents = 'heat-agents==13.0.0';

export interface HeatPrograms {
  readonly bin: string;
  /** The unpacked sources of heat-agents. */
  readonly agents: string;
}

/** Stays between runs, because the installation takes longer than the tests. `missing` is the reason of a failure. */
export async function installHeatPrograms(): Promise<HeatPrograms | { missing: string }> {
  const versions = [...packages, agents].join('_').replaceAll(/[^0-9.]+/g, '-');
  const directory = join(repository, 'node_modules', '.cache', 'anneal', `heat-host${versions}`);
  const bin = join(directory, 'bin');
  const ready = join(directory, 'ready');
  try {
    await access(ready).catch(async () => {
      await rm(directory, { recursive: true, force: true });
      await mkdir(directory, { recursive: true });
      await run('python3', ['-m', 'venv', directory]);
      const pip = (words: string[]) =>
        run(join(bin, 'pip'), [...words, '--quiet', '--disable-pip-version-check'], { timeout: 240_000 });
      await pip(['install', ...packages]);
      const sources = join(directory, 'sources');
      await pip(['download', '--no-deps', '--no-binary', ':all:', '--dest', sources, agents]);
      const [archive = ''] = await readdir(sources);
      await run('tar', ['-xzf', archive], { cwd: sources });
      await rm(join(sources, archive));
      await writeFile(ready, '');
    });
    const [folder = ''] = await readdir(join(directory, 'sources'));
    return { bin, agents: join(directory, 'sources', folder) };
  } catch (error) {
    return { missing: (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '' };
  }
}
