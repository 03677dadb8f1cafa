/** `npm run bench -- <name> [--quick] [--json]` */
import { parseArgs } from 'node:util';
import { busBench } from './bus.ts';
import { engineBench } from './engine.ts';
import { hostsBench } from './hosts.ts';
import { hotBench } from './hot.ts';
import { machine, reportTable, type Bench } from './report.ts';
import { stackBench } from './stack.ts';
import { storeBench } from './store.ts';

const benches: readonly Bench[] = [busBench, storeBench, stackBench, engineBench, hotBench, hostsBench];
const usage = `usage: npm run bench -- <name>… [--quick] [--json]\nnames: ${benches.map(({ name }) => name).join(', ')}, all\n`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const chosen = benches.filter(({ name }) => positionals.includes(name) || positionals.includes('all'));
if (values.help || chosen.length === 0) {
  process.stdout.write(usage);
  process.exitCode = values.help ? 0 : 2;
} else {
  const print = (text: string): void => void (values.json ? process.stderr : process.stdout).write(`${text}\n`);
  print(machine());
  const rows = [];
  for (const bench of chosen) {
    print(`\n== ${bench.name}${values.quick ? ' (quick)' : ''}\n${bench.notes.join('\n')}`);
    const measured = await bench.run({ quick: values.quick, say: print });
    rows.push(...measured);
    if (!values.json) print(`\n${reportTable(measured)}`);
  }
  if (values.json) process.stdout.write(`${JSON.stringify(rows)}\n`);
}
