/**
 * `npm run soak`: tests the product on real brokers and databases, and kills them. `--short` is a selection that
 * takes minutes and ends at a time limit. Names of files select other tests.
 */
import { spawn } from 'node:child_process';
import { parseArgs } from 'node:util';

const minute = 60_000;
/** Real brokers, minutes for each file. */
const selection = ['dead-letters', 'shard-growth', 'restore', 'soak/start', 'chaos/tree'];

const { values, positionals } = parseArgs({ options: { short: { type: 'boolean' } }, allowPositionals: true });
const limitMs = (values.short ? 20 : 240) * minute;
const projects = values.short ? ['soak'] : ['soak', 'listeners-*'];
const files = positionals.length > 0 ? positionals : values.short ? selection : [];

const runner = spawn(
  process.execPath,
  [
    'node_modules/vitest/vitest.mjs',
    'run',
    ...projects.map((project) => `--project=${project}`),
    '--maxWorkers=1',
    '--reporter=verbose',
    ...files,
  ],
  {
    stdio: 'inherit',
    env: { ...process.env, ANNEAL_TEST_SOAK: values.short ? 'short' : 'true' },
    // A separate process group, so that ending it also ends every server that the tests have started.
    detached: true,
  },
);
const end = (signal: NodeJS.Signals): void => {
  try {
    process.kill(-(runner.pid ?? 0), signal);
  } catch {
    // The group has ended.
  }
};
const limit = setTimeout(() => {
  process.stderr.write(`\nsoak stopped at its limit of ${limitMs / minute} minutes\n`);
  end('SIGKILL');
}, limitMs);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => end(signal));
runner.once('exit', (code) => {
  clearTimeout(limit);
  // A failed test may leave servers behind.
  end('SIGKILL');
  process.exitCode = code ?? 1;
});
