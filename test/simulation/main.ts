/**
 * `npm run simulate -- --seeds N [--first S] [--mutation NAME] [--other FOLDER]`: runs the simulator, prints the
 * coverage, and exits with 1 at the first seed that breaks an invariant. `--mutation` first breaks a rule of the engine;
 * `--other` runs another version of the engine beside this one on the same documents.
 */
import { registerHooks } from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { impossible, pairs as allPairs, coverageTable } from '@anneal/convergence/simulation/coverage.ts';
import { mutate, mutations } from '@anneal/convergence/simulation/mutations.ts';
import type { Core } from '@anneal/convergence/simulation/shell.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '2000' },
    first: { type: 'string', default: '1' },
    mutation: { type: 'string' },
    other: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  process.stdout.write(`usage: npm run simulate -- [--seeds N] [--first S] [--mutation NAME] [--other FOLDER]

Runs the scripted scenarios, then N random lives of trees of stacks, from seed S on (2000 from 1), in virtual time: providers
that are slow, fail, lie and repeat, updates in the middle, shells killed at every fault point. After every step the
invariants of libs/convergence/step.ts are checked. Prints which (state, input) pairs were exercised; ends with 1 and the
seed that broke a rule.

  --mutation NAME  break a rule of the core first, which must be found: ${Object.keys(mutations).join('; ')}
  --other FOLDER   another version of libs/convergence beside this one, each reading what the other wrote
`);
  process.exit(0);
}

if (values.mutation !== undefined) registerHooks(mutate(values.mutation));
const { simulate, current } = await import('@anneal/convergence/simulation/simulate.ts');
const { runScenarios, scenarios } = await import('@anneal/convergence/simulation/scenarios/scenarios.ts');

const cores: Core[] = [current];
if (values.other !== undefined) {
  const from = async (file: string): Promise<unknown> =>
    import(pathToFileURL(resolve(values.other ?? '', file)).href) as Promise<unknown>;
  cores.push({ ...((await from('step.ts')) as Core), ...((await from('state.ts')) as Core) });
}

const pairs = new Map<string, number>();
const killed = new Map<string, number>();
const add = (into: Map<string, number>, more: ReadonlyMap<string, number>): void => {
  for (const [key, count] of more) into.set(key, (into.get(key) ?? 0) + count);
};
const first = Number(values.first);
const last = first + Number(values.seeds) - 1;
let steps = 0;
const fail = (what: string, error: unknown): never => {
  process.stderr.write(`${what}: ${(error as Error).message}\n`);
  process.exit(1);
};
try {
  add(pairs, runScenarios(cores));
} catch (error) {
  fail('a scenario', error);
}
for (let seed = first; seed <= last; seed += 1) {
  try {
    const run = simulate(seed, cores);
    steps += run.steps;
    add(pairs, run.pairs);
    add(killed, run.killed);
  } catch (error) {
    fail(`seed ${seed}`, error);
  }
}
const missed = allPairs().filter((pair) => !pairs.has(pair) && !Object.hasOwn(impossible, pair));
const kills = [...killed].map(([point, count]) => `${point} ${count}`).join(', ');
process.stdout
  .write(`All ${Object.keys(scenarios).length} scenarios and the seeds ${first} to ${last} hold: ${steps} steps of the engine.
Processes died after a record was …: ${kills || 'never'}

${coverageTable(pairs)}

`);
for (const [pair, reason] of Object.entries(impossible)) process.stdout.write(`${pair} cannot happen: ${reason}\n`);
process.stdout.write(
  missed.length === 0 ? 'Every pair came up.\n' : `These never came up; try more seeds: ${missed.join(', ')}\n`,
);
