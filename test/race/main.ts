/**
 * `npm run test:race -- FILE [--times 50]`: repeats a test file beside busy processors and with slow commits of the
 * embedded store and broker, and stops at the first failure. A test that fails here waits for time instead of for a fact,
 * or has found a defect.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';

const usage = `Usage: npm run test:race -- FILE [FILE …] [--times N] [--load N] [--slowest MS]

Repeats test files under load, and stops at the first failure.

  --times N      how often (default 50)
  --load N       busy processes beside them (default: three for each processor)
  --slowest MS   each commit of SQLite takes up to this time longer (default 30)
  --seed N       first seed; each run has the next one, which tests read as ANNEAL_TEST_SEED and CHAOS_SEED
`;

const { values, positionals: files } = parseArgs({
  allowPositionals: true,
  options: {
    times: { type: 'string', default: '50' },
    load: { type: 'string', default: String(3 * availableParallelism()) },
    slowest: { type: 'string', default: '30' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    help: { type: 'boolean', default: false },
  },
});
const numbers = { times: values.times, load: values.load, slowest: values.slowest, seed: values.seed };
const wrong = Object.entries(numbers).filter(([, text]) => !/^\d{1,6}$/.test(text));
if (values.help || files.length === 0 || wrong.length > 0) {
  const reason = values.help
    ? ''
    : (wrong[0] ? `--${wrong[0][0]} must be a number, not ${wrong[0][1]}.` : 'Give a test file.') + '\n\n';
  (values.help ? process.stdout : process.stderr).write(`${reason}${usage}`);
  process.exit(values.help ? 0 : 2);
}
const [times, load, first] = [Number(values.times), Number(values.load), Number(values.seed)];

const busy = Array.from({ length: load }, () => spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }));
let running: ChildProcess | undefined;
/** Also after a signal, so that no process stays behind. */
const end = (): void => {
  for (const each of busy) each.kill('SIGKILL');
  if (running?.pid === undefined) return;
  try {
    process.kill(-running.pid, 'SIGKILL');
  } catch {
    // The group has ended.
  }
};
process.once('exit', end);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const slow = new URL('slow-commits.ts', import.meta.url).href;
/** Resolves with the exit status of one run of the files. */
function runOnce(seed: number): Promise<number> {
  const child = spawn(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...files], {
    stdio: 'inherit',
    // A group of its own, so that its servers end with it.
    detached: true,
    env: {
      ...process.env,
      ANNEAL_TEST_SEED: String(seed),
      CHAOS_SEED: String(seed),
      SLOW_COMMITS: `${values.slowest} ${seed}`,
      NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --import ${slow}`.trim(),
    },
  });
  running = child;
  return new Promise((resolve) => {
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

for (let run = 0; run < times; run += 1) {
  const seed = first + run;
  process.stdout.write(`\n== run ${run + 1} of ${times}, seed ${seed}, beside ${load} busy processes\n`);
  const status = await runOnce(seed);
  if (status === 0) continue;
  process.stdout.write(
    `\nFailed in run ${run + 1}. Repeat it: npm run test:race -- ${files.join(' ')} --times 1 --seed ${seed}\n`,
  );
  process.exit(1);
}
process.stdout.write(`\nPassed ${times} times.\n`);
process.exit(0);
