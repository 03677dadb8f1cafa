/** Random workflows with random results, delays, repeats and pauses: each execution ends, and keeps its invariants. */
import { createRandom, type Random } from '@anneal/convergence/simulation/model.ts';
import { isEndedExecution, isLiveTask } from '@anneal/convergence/workflow/documents.ts';
import { expect, it } from 'vitest';
import { ExecutionDriver } from './testing/driver.ts';

const seeds = 150;
const first = Number(process.env['SEED'] ?? Date.now() % 1_000_000);

const chance = (random: Random, share: number): boolean => random(1000) < share * 1000;
const pick = <T>(random: Random, items: readonly T[]): T => items[random(items.length)] as T;

/** A workflow with joins, retries, items and waits. Its links lead forward: `execution.test.ts` holds the end of loops. */
function randomWorkflow(random: Random): string {
  const count = 2 + random(7);
  const names = Array.from({ length: count }, (_, index) => `t${index}`);
  const links = new Map(
    names.map((name) => [name, { success: [] as string[], error: [] as string[], complete: [] as string[] }]),
  );
  const inbound = new Map<string, Set<string>>();
  for (const [index, name] of names.entries()) {
    for (const kind of ['success', 'error', 'complete'] as const) {
      if (!chance(random, kind === 'success' ? 0.7 : 0.3)) continue;
      const target = pick(random, [...names.slice(index + 1), 'noop']);
      links.get(name)?.[kind].push(target);
      inbound.set(target, (inbound.get(target) ?? new Set()).add(name));
    }
  }
  const lines = names.map((name) => {
    const sources = inbound.get(name)?.size ?? 0;
    const { success, error, complete } = links.get(name) ?? { success: [], error: [], complete: [] };
    const join = sources > 0 && chance(random, 0.5) ? `, join: ${pick(random, ['all', 'one', String(sources)])}` : '';
    const items = chance(random, 0.2) ? `, with-items: 'i in [1, 2, 3]', concurrency: ${pick(random, [1, 2])}` : '';
    const retry = chance(random, 0.3) ? ', retry: count=2 delay=1' : '';
    const wait = chance(random, 0.2) ? `, ${pick(random, ['wait-before', 'wait-after', 'timeout'])}: 3` : '';
    const next = Object.entries({ success, error, complete })
      .filter(([, targets]) => targets.length > 0)
      .map(([kind, targets]) => `, on-${kind}: [${targets.join(', ')}]`);
    return `    ${name}: {action: anneal.stack_show stack=s${join}${items}${retry}${wait}${next.join('')}}`;
  });
  return `version: '2.0'\nw:\n  tasks:\n${lines.join('\n')}\n`;
}

function checkInvariants(run: ExecutionDriver): void {
  const { execution, state } = run;
  const tasks = [...state.tasks.values()];
  // W3: no action is called twice.
  expect(new Set(run.called.map(({ id }) => id)).size).toBe(run.called.length);
  for (const task of tasks) {
    const running = task.items.filter((item) => item.state === 'RUNNING').length;
    if (task.items.length === 3) expect(running).toBeLessThanOrEqual(2);
    // W1: a join has run once at most.
    if (state.specs.get(task.name)?.join !== null) expect(run.runs(task.name)).toHaveLength(1);
  }
  if (isEndedExecution(execution.state)) expect(tasks.filter(isLiveTask)).toEqual([]);
  // W4: an execution that runs has something in progress.
  else if (execution.state === 'RUNNING') expect(run.open.size + run.timers.size).toBeGreaterThan(0);
}

it(`ends every random workflow (first seed ${first})`, () => {
  const states = new Map<string, number>();
  for (let seed = first; seed < first + seeds; seed += 1) {
    const random = createRandom(seed);
    const text = randomWorkflow(random);
    try {
      const run = new ExecutionDriver(text);
      for (let moves = 0; !isEndedExecution(run.execution.state); moves += 1) {
        if (moves > 4000) throw new Error(`still ${run.execution.state}: ${run.states().slice(-20).join(' ')}`);
        move(run, random);
        checkInvariants(run);
      }
      // W3: the first end of an action counts, and no later one.
      expect(JSON.stringify([...run.state.tasks.values()])).not.toContain('twice');
      states.set(run.execution.state, (states.get(run.execution.state) ?? 0) + 1);
    } catch (error) {
      if (error instanceof Error && error.message.includes('no task can start')) continue;
      throw new Error(`seed ${seed}\n${text}`, { cause: error });
    }
  }
  // The workflows are no trivial ones.
  expect([...states.keys()].sort()).toEqual(['ERROR', 'SUCCESS']);
});

/** Ends an action, sometimes twice; lets a timer fire; or pauses and resumes. */
function move(run: ExecutionDriver, random: Random): void {
  if (chance(random, 0.05)) {
    run.act({ kind: 'pause' });
    if (run.open.size > 0) run.end(pick(random, run.running()));
    run.act({ kind: 'resume' });
    return;
  }
  if (run.open.size > 0 && (run.timers.size === 0 || chance(random, 0.7))) {
    const task = pick(random, run.running());
    const called = chance(random, 0.75) ? run.end(task, { n: 1 }) : run.fail(task);
    if (chance(random, 0.2)) run.deliver({ action: called.id, ok: true, result: 'twice', reason: null });
    return;
  }
  run.fire();
}
