/**
 * Proves stacks and runs together: the engine under its simulator, whose resources of the type `Latest` are runs on a host.
 * The decisions about runs are those of the configuration service; the engine's invariants hold as with any provider.
 * Calls of the host and their answers get lost, the host answers twice, the process of the service dies between the record
 * of a decision and its consequences, scripts fail and hang, requests are cancelled and replaced, the host is deleted.
 */
import { current, simulate } from '@anneal/convergence/simulation/simulate.ts';
import type { TimedProviderWorld } from '@anneal/convergence/simulation/providers.ts';
import { expect, it } from 'vitest';
import { RunAgent } from './run-agent.ts';
import { RunServer } from './run-server.ts';

/** Most resources are runs, which follow each other in the queue of their host. */
const types = ['Latest', 'Latest', 'Latest', 'Latest', 'Test', 'Nested'] as const;
const seeds = Number(process.env['SIMULATION_SEEDS'] ?? 150);
const first = Number(process.env['SIMULATION_FIRST'] ?? 1);

it(
  'stacks keep their invariants when their resources are runs on a host, and every run ends once',
  { timeout: 240_000 },
  () => {
    const covered = new Set<string>();
    for (let seed = first; seed < first + seeds; seed += 1) {
      let server: RunServer | undefined;
      const latest = (world: TimedProviderWorld): RunServer => {
        const made = new RunServer(world);
        new RunAgent(world, made).listen();
        server = made;
        return made;
      };
      try {
        simulate(seed, [current], { latest, types });
        server?.checkQuiet();
      } catch (error) {
        throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error });
      }
      for (const pair of server?.covered ?? []) covered.add(pair);
    }
    // A run that waits is rare here: `decide.test.ts` walks its state.
    const states = ['queued', 'accepted', 'running', 'ended'];
    const happenings = ['put', 'answered', 'cancelled', 'newer request', 'host deleted'];
    const wanted = states.flatMap((state) => happenings.map((what) => `${state} ${what}`));
    expect(wanted.filter((pair) => !covered.has(pair))).toEqual([]);
  },
);
