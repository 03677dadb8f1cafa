import { describe, expect, it } from 'vitest';
import { simulate } from './simulation/simulate.ts';

const seeds = Number(process.env['SIMULATION_SEEDS'] ?? 3000);
const first = Number(process.env['SIMULATION_FIRST'] ?? 1);

describe('the core under a simulator', () => {
  it('holds its invariants whatever providers do and whenever plans arrive', { timeout: 120_000 }, () => {
    const pairs = new Set<string>();
    for (let seed = first; seed < first + seeds; seed += 1) {
      try {
        for (const pair of simulate(seed).pairs) pairs.add(pair);
      } catch (error) {
        throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error });
      }
    }
    const phases = ['idle', 'converging', 'draining'];
    for (const phase of phases) {
      for (const input of ['update', 'delete', 'response', 'deadline']) {
        expect(
          [...pairs].some((pair) => pair.startsWith(`${phase} `) && pair.endsWith(` ${input}`)),
          `${phase} ${input}`,
        ).toBe(true);
      }
    }
    expect(pairs).toContain('converging DELETE grace');
  });
});
