/** Runs a bench in a process of its own, which prints its rows as JSON. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { repository } from '../../e2e/server.ts';
import { optionWords, type Bench, type BenchOptions, type Row } from '../report.ts';

export interface SourceTree {
  readonly name: string;
  /** The folder with its sources. */
  readonly folder: string;
}

/**
 * A bench of a server is the one of these sources on both sides, with the server of the side: so new cases measure an
 * earlier server too. Another bench imports what it measures, so each side runs its own.
 */
export function commandOf(bench: Pick<Bench, 'name' | 'measures'>, side: SourceTree, options: BenchOptions) {
  return {
    folder: bench.measures === 'server' ? repository : side.folder,
    words: [
      'test/bench/main.ts',
      bench.name,
      '--json',
      ...optionWords(options),
      ...(bench.measures === 'server' ? ['--rounds', '1', '--server', side.folder] : []),
    ],
  };
}

/** Ends the whole group of the process: the bench, its server and its load. */
async function stop({ pid }: ChildProcess): Promise<void> {
  const send = (signal: NodeJS.Signals | 0): boolean => {
    try {
      return pid !== undefined && process.kill(-pid, signal);
    } catch {
      return false;
    }
  };
  send('SIGTERM');
  for (const end = Date.now() + stopMs; send(0); await delay(20)) if (Date.now() > end) send('SIGKILL');
}
const stopMs = 10_000;

export interface Running {
  /** @throws when the bench fails, with the end of what it printed */
  readonly rows: Promise<Row[]>;
  stop(): Promise<void>;
}

/** `temporary` is where the process and its children keep their files. */
export function runSide(
  { folder, words }: ReturnType<typeof commandOf>,
  { temporary, say }: { temporary: string; say: (text: string) => void },
): Running {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...words], {
    cwd: folder,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, TMPDIR: temporary },
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
    for (const line of chunk.toString().split('\n')) if (line.includes('left out')) say(`  ${line.trim()}`);
  });
  const read = async (): Promise<Row[]> => {
    const [status] = (await once(child, 'close')) as [number | null];
    if (status === 0) return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Row[];
    throw new Error(`The bench ended with ${status}: ${(stderr || stdout).trim().split('\n').slice(-20).join('\n')}`);
  };
  return { rows: read(), stop: () => stop(child) };
}
