/** The agents that the conformance suite runs, each as an operator starts it: a process that a service manager restarts. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildExecutable, thisMachine } from '@anneal/agent/executable/executable.ts';
import type { BootSeed } from '@anneal/contracts/calls/boot.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { atProcessEnd } from '../../backends/process-end.ts';

/** A host on this machine, with one agent in its folder. */
export interface TestHost {
  readonly directory: string;
  start(): void;
  /** SIGKILL for the agent's process; what it started goes on. Resolves when the agent is dead. */
  kill(): Promise<void>;
  /** SIGKILL for everything that this host runs, as a power cut does. */
  cutPower(): Promise<void>;
  /** Gives the host a new token, as an operator does, without a restart. */
  renew(token: string): void;
  /** A config that replaces the agent by a version which creates the file `marker` at its start. */
  updateScript(marker: string): string;
}

export interface AgentKind {
  readonly name: string;
  /** Why this machine cannot run it. */
  readonly missing: string | undefined;
  host(seed: BootSeed, directory: string): Promise<TestHost>;
}

const located = (program: string): string | undefined => {
  const found = spawnSync('sh', ['-c', `command -v ${program}`], { encoding: 'utf8' }).stdout.trim();
  return found === '' ? undefined : found;
};

/** The processes of a host, by its folder in their command line or environment. */
function processesOf(directory: string): number[] {
  return readdirSync('/proc').flatMap((name) => {
    const pid = Number(name);
    if (!/^\d+$/.test(name) || pid === process.pid) return [];
    try {
      const text = readFileSync(`/proc/${name}/cmdline`, 'utf8') + readFileSync(`/proc/${name}/environ`, 'utf8');
      return text.includes(directory) ? [pid] : [];
    } catch {
      return [];
    }
  });
}

/** Starts a command, and again when it ends by itself, as `Restart=always` of systemd does. */
class Supervised {
  readonly #command: readonly string[];
  readonly #directory: string;
  #child: ChildProcess | undefined;
  #wanted = false;

  constructor(command: readonly string[], directory: string) {
    this.#command = command;
    this.#directory = directory;
  }

  start(): void {
    this.#wanted = true;
    const [program = '', ...words] = this.#command;
    const child = spawn(program, words, {
      stdio: 'ignore',
      env: { PATH: process.env['PATH'] ?? '', HOME: this.#directory },
    });
    this.#child = child;
    child.once('exit', () => {
      if (this.#wanted && this.#child === child) this.start();
    });
  }

  async kill(): Promise<void> {
    this.#wanted = false;
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const dead = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await dead;
  }

  async cutPower(): Promise<void> {
    await this.kill();
    await eventually(
      () => {
        const left = processesOf(this.#directory);
        for (const pid of left) {
          try {
            process.kill(pid, 'SIGKILL');
          } catch {
            // It ended meanwhile.
          }
        }
        return left.length === 0 ? true : undefined;
      },
      { what: 'the end of all processes of the host' },
    );
  }
}

function writeAtomically(file: string, text: string, mode: number): void {
  writeFileSync(`${file}.new`, text, { mode });
  chmodSync(`${file}.new`, mode);
  renameSync(`${file}.new`, file);
}

/** The full agent. */
const fullAgent: AgentKind = {
  name: 'the agent as one file',
  missing: undefined,
  async host(seed, directory) {
    const seedFile = join(directory, 'seed.json');
    const program = join(directory, 'agent');
    const executableFile = await builtExecutable();
    const version = (marker?: string): string =>
      `#!/bin/sh\n${marker === undefined ? '' : `: >'${marker}'\n`}exec '${executableFile}' "$@"\n`;
    writeAtomically(seedFile, JSON.stringify(seed), 0o600);
    writeAtomically(program, version(), 0o700);
    const supervised = new Supervised(
      [program, '--seed', seedFile, '--directory', join(directory, 'state')],
      directory,
    );
    return {
      directory,
      start: () => supervised.start(),
      kill: () => supervised.kill(),
      cutPower: () => supervised.cutPower(),
      renew: (token) => writeAtomically(seedFile, JSON.stringify({ ...seed, token }), 0o600),
      // The config ends the agent, and the service manager starts the new version.
      updateScript: (marker) => `cat >'${program}.next' <<'END'
${version(marker)}END
chmod 700 '${program}.next' && mv '${program}.next' '${program}'
for process in /proc/[0-9]*; do
  case "$(tr '\\000' ' ' <"$process/cmdline" 2>/dev/null)" in *'--seed ${seedFile}'*) kill "\${process#/proc/}" ;; esac
done
:`,
    };
  },
};

/** The agent as one file, built once for this run of the tests. */
let executable: Promise<string> | undefined;
function builtExecutable(): Promise<string> {
  executable ??= (async () => {
    const folder = mkdtempSync(join(tmpdir(), 'anneal-executable-'));
    atProcessEnd(() => rmSync(folder, { recursive: true, force: true }));
    return (await buildExecutable({ machine: thisMachine() ?? 'amd64', folder })).file;
  })();
  return executable;
}

/** A PATH without the named programs. */
function pathWithout(directory: string, names: readonly string[]): string {
  const folder = join(directory, 'path');
  mkdirSync(folder, { recursive: true });
  for (const from of ['/bin', '/usr/bin']) {
    for (const name of readdirSync(from)) {
      if (names.includes(name)) continue;
      try {
        symlinkSync(join(from, name), join(folder, name));
      } catch {
        // It is there already.
      }
    }
  }
  return folder;
}

interface ShellOptions {
  readonly shell: string;
  readonly transport: 'curl' | 'wget' | 'busybox wget';
}

const shellAgent = ({ shell, transport }: ShellOptions): AgentKind => {
  const program = shell.split(' ')[0] ?? '';
  const needed = [program, transport.split(' ')[0] ?? ''].find((name) => located(name) === undefined);
  return {
    name: `the sh agent with ${shell} and ${transport}`,
    missing: needed === undefined ? undefined : `${needed} is not on this machine`,
    async host(seed, directory) {
      const folder = (name: string): string => {
        mkdirSync(join(directory, name), { recursive: true });
        return join(directory, name);
      };
      const file = join(folder('bin'), 'anneal-agent');
      const conf = join(folder('lib/anneal-agent'), 'conf');
      const settings = (token: string): string =>
        `url=${seed.gateway_url}\ntoken=${token}\nclient=3381af92-2b9e-11e3-b191-71861300734c\n`;
      writeAtomically(conf, settings(seed.token), 0o600);
      const text = await (await fetch(`${seed.gateway_url}/agent/sh`)).text();
      writeAtomically(file, text, 0o755);
      const path = pathWithout(directory, transport === 'curl' ? [] : ['curl', 'wget', 'sh']);
      const link = (name: string, target: string | undefined): void => {
        if (target !== undefined) symlinkSync(target, join(path, name));
      };
      if (transport !== 'curl') {
        link('wget', transport === 'wget' ? located('wget') : located('busybox'));
        link('sh', shell.includes(' ') ? located('busybox') : located(program));
      }
      const words = [located(program) ?? program, ...shell.split(' ').slice(1), file, 'run'];
      const supervised = new Supervised(['env', `PATH=${path}`, ...words], directory);
      return {
        directory,
        start: () => supervised.start(),
        kill: () => supervised.kill(),
        cutPower: () => supervised.cutPower(),
        renew: (token) => writeAtomically(conf, settings(token), 0o600),
        // The gateway serves the version that runs, so a line is added to it before it takes the place of the old one.
        updateScript: (marker) => `"$ANNEAL_AGENT" update || exit 1
{ echo '#!/bin/sh'; echo ": >'${marker}'"; cat "$ANNEAL_AGENT"; } >"$ANNEAL_AGENT.next"
chmod 755 "$ANNEAL_AGENT.next" && mv "$ANNEAL_AGENT.next" "$ANNEAL_AGENT"`,
      };
    },
  };
};

export const agentKinds = {
  file: fullAgent,
  dash: shellAgent({ shell: 'dash', transport: 'curl' }),
  bash: shellAgent({ shell: 'bash', transport: 'wget' }),
  busybox: shellAgent({ shell: 'busybox sh', transport: 'busybox wget' }),
};
