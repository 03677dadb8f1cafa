/** The real programs of a Heat host, from PyPI: os-collect-config and its companions, and the sources of heat-agents. */
import { execFile } from 'node:child_process';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { installFromPypi, pip, type NoPython } from '../../backends/pypi.ts';

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

/** `missing` is the reason of a failure. */
export async function installHeatPrograms(): Promise<HeatPrograms | NoPython> {
  const installed = await installFromPypi(packages, async (environment) => {
    const sources = join(environment.directory, 'sources');
    await pip(environment, ['download', '--no-deps', '--no-binary', ':all:', '--dest', sources, agents]);
    const [archive = ''] = await readdir(sources);
    await run('tar', ['-xzf', archive], { cwd: sources });
    await rm(join(sources, archive));
  });
  if ('missing' in installed) return installed;
  const sources = join(installed.directory, 'sources');
  const [folder = ''] = await readdir(sources);
  return { bin: installed.bin, agents: join(sources, folder) };
}
