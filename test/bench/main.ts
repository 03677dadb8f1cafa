/** `npm run bench -- <name>…`: see the usage below. */
import { parseArgs } from 'node:util';
import { repository } from '../e2e/server.ts';
import { runAgainst } from './against/run.ts';
import { comparisonTable } from './against/table.ts';
import { benches } from './benches.ts';
import { profileBench } from './profile/run.ts';
import { machine, reportTable, type Bench, type BenchOptions, type Row } from './report.ts';
import { settleBuilds } from './settle-builds.ts';

const usage = [
  'usage: npm run bench -- <name>… [--quick] [--json] [--backend NAME] [--hosts NUMBER] [--rounds NUMBER]',
  '       npm run bench -- <name>… --against REVISION [--quick] [--json] [--backend NAME] [--hosts NUMBER] [--rounds NUMBER]',
  '       npm run bench -- --profile <name> [--quick] [--backend NAME] [--hosts NUMBER]',
  '',
  '  --against REVISION  run the bench of that revision and of this one in turn, and compare each figure',
  '  --profile           record processor profiles, and print the most expensive functions of each program',
  '  --rounds NUMBER     how often each case is measured, for benches that count rounds; with --against: how often each',
  '                      of the two revisions runs (default 3)',
  '  --server FOLDER     for benches of a server: the sources of the server (default: these)',
  'names:',
  ...benches.map(({ name, backends }) => `  ${name} (backends: ${backends.join(', ')})`),
  '  all',
  '',
].join('\n');

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    backend: { type: 'string' },
    hosts: { type: 'string' },
    rounds: { type: 'string' },
    server: { type: 'string', default: repository },
    against: { type: 'string' },
    profile: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const chosen = benches.filter(({ name }) => positionals.includes(name) || positionals.includes('all'));
const [hosts, rounds] = [values.hosts, values.rounds].map((given) => (given === undefined ? undefined : Number(given)));
const isCount = (number: number | undefined): boolean =>
  number === undefined || (Number.isInteger(number) && number > 0);
const { backend, against } = values;
const isUnknown = backend !== undefined && !chosen.some(({ backends }) => backends.includes(backend));
const isWrong =
  chosen.length === 0 ||
  isUnknown ||
  !isCount(hosts) ||
  !isCount(rounds) ||
  (values.profile && (chosen.length !== 1 || values.json || against !== undefined));

const print = (text: string): void => void (values.json ? process.stderr : process.stdout).write(`${text}\n`);
const result = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value)}\n`);
const options: BenchOptions = { quick: values.quick, say: print, backend, hosts, rounds, server: values.server };

async function measure(bench: Bench): Promise<Row[]> {
  print(`\n== ${bench.name}${values.quick ? ' (quick)' : ''}\n${bench.notes.join('\n')}`);
  if (bench.measures === 'server') await settleBuilds(values.server);
  const measured = await bench.run(options);
  if (!values.json) print(`\n${reportTable(measured)}`);
  return measured;
}

if (values.help || isWrong) {
  process.stdout.write(usage);
  process.exitCode = values.help ? 0 : 2;
} else if (against !== undefined) {
  print(machine());
  const compared = await runAgainst(chosen, against, options);
  if (values.json) result(compared);
  else print(`\n${comparisonTable(compared)}`);
} else if (values.profile) {
  for (const bench of chosen) await profileBench(bench, options);
} else {
  print(machine());
  const rows: Row[] = [];
  for (const bench of chosen) rows.push(...(await measure(bench)));
  if (values.json) result(rows);
}
