/** Scenarios of choices among equals, which must not follow the order in which a store returns documents. */
import type { ExternalWait, ResourceDocument } from '../../documents.ts';
import type { Input, Outcome } from '../../protocol.ts';
import { must } from '../checks/ledger.ts';
import { desiredResource } from '../driver.ts';
import { simulatedPlan, simulatedTarget, toolsAt } from '../model.ts';
import type { Script, Scenarios } from '../script.ts';

/** The outcomes of an input for a stack with two equal incarnations of `a`, with each of them first. */
function bothWays(script: Script, input: Input, change: Partial<ResourceDocument> = {}): Outcome[] {
  const plan = simulatedPlan({ a: desiredResource() });
  script.create({ a: desiredResource() }).ends('CREATE_COMPLETE');
  const one = { ...script.find('a'), ...change };
  const other = { ...one, id: 'another' };
  const [core] = script.world.cores;
  return [
    [one, other],
    [other, one],
  ].flatMap((resources) => {
    const state = core?.loadState({ stack: script.world.stack('s'), resources, plan });
    return core && state ? [core.step(state, [input], toolsAt(1))] : [];
  });
}

const requested = ({ changes }: Outcome): string =>
  Array.from(changes.resources.values(), ({ id, replaces, request }) => `${request?.action} ${id} ${replaces}`)
    .sort()
    .join();

/** The scenarios by the choice. */
export const orderScenarios: Scenarios = {
  'one of two equal incarnations is replaced': (script) => {
    const update = { kind: 'update', id: 'u', plan: simulatedPlan({ a: desiredResource({ kind: 2 }) }) } as const;
    const [one, other] = bothWays(script, { ...update, target: simulatedTarget('2') }).map(requested);
    must(one === other && one?.includes('create') === true, `the order decides: ${one}, or ${other}`);
  },
  'one of two equal incarnations is checked': (script) => {
    const [one, other] = bothWays(script, { kind: 'visit', id: 'check', action: 'CHECK' }).map(requested);
    must(one === other && one?.includes('check') === true, `the order decides: ${one}, or ${other}`);
  },
  'one of two equal incarnations at a hook is cleared': (script) => {
    const times = { since: '', deadline: null, last: null, default: null };
    const hook: ExternalWait = { ...times, name: 'pre-delete', kind: 'hook', token: 't', traversal: '' };
    const action = { kind: 'clear hook', hook: 'pre-delete' } as const;
    const clear = { kind: 'resource', id: 'clear', resource: 'a', action } as const;
    const [one, other] = bothWays(script, clear, { hook }).map(requested);
    must(one === other && one !== '', `the order decides: ${one}, or ${other}`);
  },
};
