/**
 * `npm run check`: lock file, format, lint with the import rules, types, wire contracts, dead code, tests of the levels pure and service. It runs all checks, then lists
 * the failed ones. `--without-tests` leaves the tests out, for a run after `npm test`.
 */
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

const { values } = parseArgs({ options: { 'without-tests': { type: 'boolean' } } });

interface Check {
  name: string;
  command: string;
  args: readonly string[];
  remedy: string;
}
const cheapTests: Check = {
  name: 'tests of the levels pure and service',
  command: 'vitest',
  args: ['run', '--project', 'pure', '--project', 'service'],
  remedy: 'fix the errors listed above',
};
const steps: readonly Check[] = [
  {
    name: 'lock file (complete for every platform)',
    command: 'npm',
    args: ['ci', '--dry-run', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'],
    remedy: 'npm install --package-lock-only; pin versions whose platform bindings are all published',
  },
  { name: 'format', command: 'oxfmt', args: ['--check'], remedy: 'npm run format' },
  { name: 'lint and import rules', command: 'oxlint', args: ['--type-aware'], remedy: 'fix the errors listed above' },
  { name: 'types', command: 'tsc', args: ['-p', '.'], remedy: 'fix the errors listed above' },
  {
    name: 'types of the console',
    command: 'tsc',
    args: ['-p', 'services/console'],
    remedy: 'fix the errors listed above',
  },
  {
    name: 'wire contracts',
    command: 'node',
    args: ['libs/contracts/generate.ts', '--check'],
    remedy: 'npm run contracts',
  },
  { name: 'reference pages', command: 'node', args: ['test/docs/generate.ts', '--check'], remedy: 'npm run docs' },
  { name: 'dead code', command: 'knip', args: [], remedy: 'remove unused code' },
  ...(values['without-tests'] ? [] : [cheapTests]),
];

const failed: string[] = [];
for (const { name, command, args, remedy } of steps) {
  process.stdout.write(`\n== ${name}: ${command} ${args.join(' ')}\n`);
  const { status, error } = spawnSync(command, args, { stdio: 'inherit' });
  if (status !== 0) failed.push(`${name} (${error ? error.message : remedy})`);
}
process.stdout.write(failed.length === 0 ? '\nAll checks passed.\n' : `\nFailed: ${failed.join('; ')}\n`);
process.exitCode = failed.length === 0 ? 0 : 1;
