/** `--profile`: runs a bench with V8's profiler in each of its processes and threads, and prints where the time went. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { repository } from '../../e2e/server.ts';
import { columns, optionWords, type Bench, type BenchOptions } from '../report.ts';
import { idle, timesOf, type CpuProfile, type ThreadTime } from './read.ts';

const most = 10;
/** Programs with less of the time of all programs are left out, such as a helper that only starts another one. */
const leastShare = 0.02;

export async function profileBench(bench: Bench, options: BenchOptions): Promise<void> {
  const { rounds = 1, server, say } = options;
  const folder = await mkdtemp(join(tmpdir(), `anneal-profile-${bench.name}-`));
  const words = [
    'test/bench/main.ts',
    bench.name,
    '--rounds',
    String(rounds),
    '--server',
    server,
    ...optionWords(options),
  ];
  const note = new URL('./note.ts', import.meta.url).href;
  const flags = [process.env['NODE_OPTIONS'] ?? '', '--cpu-prof', `--cpu-prof-dir=${folder}`, `--import=${note}`];
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...words], {
    cwd: repository,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: flags.join(' ').trim() },
  });
  const [status] = (await once(child, 'exit')) as [number | null];
  if (status !== 0) throw new Error(`The bench ended with ${status}. Profiles of its processes: ${folder}`);
  for (const text of await reportOf(folder, server)) say(`\n${text}`);
  say(`\nProfiles (open them in the developer tools of a browser): ${folder}`);
}

/** One text for the main threads of each program, and one for its workers. */
async function reportOf(folder: string, root: string): Promise<string[]> {
  const names = await readdir(folder);
  const found = new Map<string, CpuProfile[]>();
  for (const name of names) {
    // Its date, time, process, thread and number.
    const [, , , pid, thread] = /^CPU\.(\d+)\.(\d+)\.(\d+)\.(\d+)\.\d+\.cpuprofile$/.exec(name) ?? [];
    if (pid === undefined) continue;
    const program = await readFile(join(folder, `${pid}.program`), 'utf8').catch(() => 'another program');
    const key = `${program}, ${thread === '0' ? 'main thread' : 'workers'}`;
    const profile = JSON.parse(await readFile(join(folder, name), 'utf8')) as CpuProfile;
    found.set(key, [...(found.get(key) ?? []), profile]);
  }
  const times = [...found].map(([key, profiles]) => ({ key, count: profiles.length, time: timesOf(profiles, root) }));
  const all = times.reduce((sum, { time }) => sum + time.milliseconds, 0);
  return times
    .filter(({ time }) => time.milliseconds > all * leastShare)
    .toSorted((one, other) => other.time.milliseconds - one.time.milliseconds)
    .map(({ key, count, time }) => tableOf(`${key} (${count} ${count === 1 ? 'profile' : 'profiles'})`, time));
}

function tableOf(title: string, { milliseconds, functions, apart }: ThreadTime): string {
  const ms = (time: number): string => time.toFixed(0).padStart(8);
  const share = (time: number): string => `${((time / milliseconds) * 100).toFixed(1)} %`.padStart(7);
  const rows = functions.slice(0, most).map(({ name, place, milliseconds: own }) => [ms(own), share(own), name, place]);
  const others = apart.map(({ name, milliseconds: own }) => [ms(own), name === idle ? '' : share(own), name, '']);
  return `${title}: ${milliseconds.toFixed(0)} ms without the idle time\n${columns([
    ['self ms', 'share', 'function', 'place'],
    ...rows,
    ...others,
  ])}`;
}
