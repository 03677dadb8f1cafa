/** `npm run bench -- <name> [--quick] [--json] [--backend NAME] [--hosts NUMBER]` */
import { parseArgs } from 'node:util';
import { repository } from '../e2e/server.ts';
import { apiBench } from './api.ts';
import { busBench } from './bus.ts';
import { engineBench } from './engine.ts';
import { eventsBench } from './events.ts';
import { hostsBench } from './hosts.ts';
import { hotBench } from './hot.ts';
import { neighbourBench } from './neighbour.ts';
import { nodesBench } from './nodes.ts';
import { machine, reportTable, type Bench } from './report.ts';
import { settleBuilds } from './settle-builds.ts';
import { stackBench } from './stack.ts';
import { storeBench } from './store.ts';
import { treeBench } from './tree.ts';

const benches: readonly Bench[] = [
  busBench,
  storeBench,
  stackBench,
  engineBench,
  hotBench,
  hostsBench,
  nodesBench,
  eventsBench,
  apiBench,
  neighbourBench,
  treeBench,
];
const usage = [
  'usage: npm run bench -- <name>… [--quick] [--json] [--backend NAME] [--hosts NUMBER]',
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
    help: { type: 'boolean', default: false },
  },
});
const chosen = benches.filter(({ name }) => positionals.includes(name) || positionals.includes('all'));
const [hosts, rounds] = [values.hosts, values.rounds].map((given) => (given === undefined ? undefined : Number(given)));
const { backend, server } = values;
const isUnknown = backend !== undefined && !chosen.some(({ backends }) => backends.includes(backend));
const isWrong = chosen.length === 0 || isUnknown || (hosts !== undefined && !(Number.isInteger(hosts) && hosts > 0));
if (values.help || isWrong) {
  process.stdout.write(usage);
  process.exitCode = values.help ? 0 : 2;
} else {
  const print = (text: string): void => void (values.json ? process.stderr : process.stdout).write(`${text}\n`);
  print(machine());
  const rows = [];
  for (const bench of chosen) {
    print(`\n== ${bench.name}${values.quick ? ' (quick)' : ''}\n${bench.notes.join('\n')}`);
    if (bench.measures === 'server') await settleBuilds(server);
    const measured = await bench.run({ quick: values.quick, say: print, backend, hosts, rounds, server });
    rows.push(...measured);
    if (!values.json) print(`\n${reportTable(measured)}`);
  }
  if (values.json) process.stdout.write(`${JSON.stringify(rows)}\n`);
}
