/**
 * A host as Heat's images have it, in a folder of its own: os-collect-config runs os-refresh-config, which runs
 * os-apply-config and 55-heat-config, which run the hooks and heat-config-notify. All of them are the unmodified programs.
 * Only their folders differ, and the script 20-os-apply-config, which names the folder for the files.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ownEnvironment } from '../../e2e/server.ts';
import type { HeatPrograms } from './programs.ts';

export type CollectSettings = Readonly<Record<string, Readonly<Record<string, string>> | readonly string[]>>;

export class HeatHost {
  readonly root: string;
  readonly #programs: HeatPrograms;
  #agent: ChildProcess | undefined;
  #log = '';

  private constructor(root: string, programs: HeatPrograms) {
    this.root = root;
    this.#programs = programs;
  }

  static async create(programs: HeatPrograms, settings: CollectSettings): Promise<HeatHost> {
    const host = new HeatHost(await mkdtemp(join(tmpdir(), 'anneal-heat-host-')), programs);
    const { agents } = programs;
    const configure = join(host.root, 'refresh', 'configure.d');
    const heat = join(agents, 'heat-config');
    await host.#copy(join(heat, 'os-refresh-config/configure.d/55-heat-config'), join(configure, '55-heat-config'));
    await host.#copy(join(agents, 'heat-config-script/install.d/hook-script.py'), join(host.root, 'hooks', 'script'));
    await host.#copy(join(heat, 'bin/heat-config-notify'), join(host.root, 'bin', 'heat-config-notify'));
    const apply = join(configure, '20-os-apply-config');
    await writeFile(apply, `#!/bin/bash\nset -ue\n\nexec os-apply-config --output ${host.root}\n`);
    await chmod(apply, 0o755);
    await mkdir(dirname(host.configFile), { recursive: true });
    await writeFile(host.configFile, iniOf(settings));
    return host;
  }

  get configFile(): string {
    return join(this.root, 'etc', 'os-collect-config.conf');
  }

  get deployed(): string {
    return join(this.root, 'deployed');
  }

  /** The last output of the agent and its children, for the report of a failure. */
  readonly output = (): string => this.#log.slice(-6000);

  /** Whether the agent or a child of it ever printed the text. */
  readonly printed = (text: string): boolean => this.#log.includes(text);

  /** Lines that the scripts of the configs wrote. */
  async trace(): Promise<string[]> {
    const text = await readFile(join(this.root, 'trace'), 'utf8').catch(() => '');
    return text.split('\n').filter((line) => line !== '');
  }

  /** Starts the agent in a process group of its own. */
  start(): void {
    const { root } = this;
    const words = `--config-file ${this.configFile} --cachedir ${join(root, 'cache')} --backup-cachedir ${join(root, 'backup')} --polling-interval 1`;
    const command = ['--command', `os-refresh-config --lockfile ${join(root, 'lock')}`];
    const agent = spawn(join(this.#programs.bin, 'os-collect-config'), [...words.split(' '), ...command], {
      cwd: root,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...ownEnvironment(),
        PATH: `${join(root, 'bin')}:${this.#programs.bin}:${process.env['PATH']}`,
        HOME: root,
        // dib-run-parts leaves its folder when it is killed.
        TMPDIR: root,
        // Python cannot restore the locale C.UTF-8 where en_US is absent, and the collector `local` tries to.
        LC_ALL: 'C',
        TRACE: join(root, 'trace'),
        OS_REFRESH_CONFIG_BASE_DIR: join(root, 'refresh'),
        OS_CONFIG_APPLIER_TEMPLATES: join(this.#programs.agents, 'heat-config', 'os-apply-config'),
        HEAT_SHELL_CONFIG: join(root, 'var', 'run', 'heat-config', 'heat-config'),
        HEAT_CONFIG_HOOKS: join(root, 'hooks'),
        HEAT_CONFIG_DEPLOYED: this.deployed,
        HEAT_CONFIG_DEPLOYED_OLD: this.deployed,
        HEAT_SCRIPT_WORKING: join(root, 'working'),
        HEAT_SCRIPT_OUTPUTS: join(root, 'outputs'),
      },
    });
    for (const stream of [agent.stdout, agent.stderr]) {
      stream.on('data', (chunk: Buffer) => (this.#log = `${this.#log}${chunk.toString()}`));
    }
    this.#agent = agent;
  }

  /** Kills the agent, alone or with its whole process group, as SIGKILL or a power cut does. */
  async kill(what: 'agent' | 'group'): Promise<void> {
    const agent = this.#agent;
    this.#agent = undefined;
    if (agent?.pid === undefined || agent.exitCode !== null || agent.signalCode !== null) return;
    const ended = new Promise((resolve) => agent.once('exit', resolve));
    process.kill(what === 'agent' ? agent.pid : -agent.pid, 'SIGKILL');
    await ended;
  }

  async dispose(): Promise<void> {
    await this.kill('group');
    await rm(this.root, { recursive: true, force: true, maxRetries: 5 });
  }

  async #copy(from: string, to: string): Promise<void> {
    await mkdir(dirname(to), { recursive: true });
    await copyFile(from, to);
    await chmod(to, 0o755);
  }
}

/** The file that os-collect-config reads, from the attribute `os_collect_config`. */
function iniOf({ collectors, ...sections }: CollectSettings): string {
  const lines = (values: object): string[] => Object.entries(values).map(([name, value]) => `${name} = ${value}`);
  return [
    '[DEFAULT]',
    ...(Array.isArray(collectors) ? collectors.map((name) => `collectors = ${name}`) : []),
    ...Object.entries(sections).flatMap(([name, values]) => [`[${name}]`, ...lines(values)]),
    '',
  ].join('\n');
}
