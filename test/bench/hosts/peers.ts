/** The same ten steps with other tools on this machine, where they are installed: no network, no server between. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findProgram } from '../../backends/program.ts';
import type { Row } from '../report.ts';

const run = promisify(execFile);
const steps = 10;

export async function peerRows({ quick, say }: { quick: boolean; say: (text: string) => void }): Promise<Row[]> {
  const folder = await mkdtemp(join(tmpdir(), 'anneal-bench-peers-'));
  try {
    const rows: Row[] = [];
    for (const peer of [ansible, salt]) rows.push(...(await peer({ folder, quick, say })));
    return rows;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface Peer {
  readonly folder: string;
  readonly quick: boolean;
  readonly say: (text: string) => void;
}

async function timed(program: string, words: readonly string[], n: number): Promise<Row[]> {
  const start = performance.now();
  await run(program, [...words], { maxBuffer: 64 * 2 ** 20 });
  const seconds = (performance.now() - start) / 1000;
  const backend = program.split('/').at(-1) ?? program;
  return [
    {
      bench: 'hosts',
      case: `${steps} steps each`,
      backend,
      n,
      metric: 'configs',
      unit: '/s',
      value: (n * steps) / seconds,
    },
  ];
}

async function ansible({ folder, quick, say }: Peer): Promise<Row[]> {
  const program = await findProgram('ansible-playbook');
  if (program === undefined) {
    say('ansible-playbook: left out: it is not on the PATH');
    return [];
  }
  const tasks = Array.from(
    { length: steps },
    (_, step) => `    - name: step ${step}\n      ansible.builtin.command: echo done`,
  );
  const playbook = join(folder, 'steps.yaml');
  await writeFile(playbook, `- hosts: all\n  gather_facts: false\n  tasks:\n${tasks.join('\n')}\n`);
  const rows: Row[] = [];
  for (const n of quick ? [1] : [1, 10]) {
    const inventory = join(folder, `inventory${n}`);
    const lines = Array.from({ length: n }, (_, host) => `host${host} ansible_connection=local`);
    await writeFile(inventory, `${lines.join('\n')}\n`);
    rows.push(...(await timed(program, ['-i', inventory, '--forks', String(n), playbook], n)));
  }
  return rows;
}

async function salt({ folder, say }: Peer): Promise<Row[]> {
  const program = await findProgram('salt-call');
  if (program === undefined) {
    say('salt-call: left out: it is not on the PATH');
    return [];
  }
  const states = join(folder, 'states');
  await mkdir(states, { recursive: true });
  const lines = Array.from(
    { length: steps },
    (_, step) => `step${step}:\n  cmd.run:\n    - name: echo done\n    - order: ${step + 1}`,
  );
  await writeFile(join(states, 'steps.sls'), `${lines.join('\n')}\n`);
  const dirs = ['pki_dir', 'cachedir', 'sock_dir', 'conf_dir'].map((name) => `${name}: ${join(folder, name)}`);
  await mkdir(join(folder, 'conf'), { recursive: true });
  const minion = [
    ...dirs,
    `log_file: ${join(folder, 'log')}`,
    'file_client: local',
    'id: bench',
    `file_roots: {base: [${states}]}`,
  ];
  await writeFile(join(folder, 'conf', 'minion'), `${minion.join('\n')}\n`);
  return timed(program, ['--local', '-c', join(folder, 'conf'), 'state.apply', 'steps'], 1);
}
