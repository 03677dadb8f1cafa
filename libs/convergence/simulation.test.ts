/** A part of the seeds. `npm run test:full -- seeds` runs more, and breaks each rule of the core to see that it is caught. */
import { describe, expect, it } from 'vitest';
import { impossible, pairs as allPairs } from './simulation/coverage.ts';
import { runScenarios, scenarios } from './simulation/scenarios/scenarios.ts';
import { Script } from './simulation/script.ts';
import { faultPoints } from './simulation/shell.ts';
import { current, simulate } from './simulation/simulate.ts';

const seeds = Number(process.env['SIMULATION_SEEDS'] ?? 700);
const first = Number(process.env['SIMULATION_FIRST'] ?? 1);

describe('the core under a simulator', () => {
  it('keeps its invariants in every phase and for every input', () => {
    const pairs = runScenarios([current]);
    const killed = new Map<string, number>();
    for (let seed = first; seed < first + seeds; seed += 1) {
      try {
        const result = simulate(seed);
        for (const [pair, count] of result.pairs) pairs.set(pair, (pairs.get(pair) ?? 0) + count);
        for (const [point, count] of result.killed) killed.set(point, (killed.get(point) ?? 0) + count);
      } catch (error) {
        throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error });
      }
    }
    const missed = allPairs().filter((pair) => !pairs.has(pair) && !Object.hasOwn(impossible, pair));
    expect(missed).toEqual([]);
    expect([...killed.keys()].toSorted()).toEqual([...faultPoints].toSorted());
  });

  it.each([1501264, 512675, 707305])('keeps its invariants for seed %i, which once broke one', (seed) => {
    expect(() => simulate(seed, [current], { isOrderly: true })).not.toThrow();
  });

  describe('scripted', () => {
    for (const [name, scenario] of Object.entries(scenarios))
      it(`keeps its invariants when ${name}`, () => scenario(new Script([current])));
  });
});
