/**
 * One seeded run: random plans arrive while providers misbehave, every step is checked against the invariants of
 * `step.ts`, and the world keeps its own books of what physically exists and what uses what, so that the core's word is
 * not taken for it.
 */
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { Input } from '../protocol.ts';
import { emptyPlan, loadState, type ResourceDocument, type StackDocument, type State } from '../state.ts';
import { step } from '../step.ts';
import type { Plan } from '@anneal/contracts/plan.ts';
import { createRandom, goodResponse, newStack, planOf, toolsAt, type Wish } from './model.ts';

interface Physical {
  /** What it was last told to use, and what a failed update may have made it use. */
  uses: Set<string>;
  /** The properties that it has. */
  applied: string;
}

type Happening =
  | { readonly kind: 'input'; readonly input: Input }
  | { readonly kind: 'provider'; readonly resource: ResourceDocument };

export interface Run {
  readonly steps: number;
  readonly pairs: ReadonlySet<string>;
}

/** @throws Error that names the invariant that was broken. */
export function simulate(seed: number): Run {
  const random = createRandom(seed);
  const chance = (percent: number): boolean => random(100) < percent;
  const plans = new Map<string, Plan>([['0', emptyPlan()]]);
  const stored: { stack: StackDocument; resources: Map<string, ResourceDocument> } = {
    stack: newStack('s'),
    resources: new Map(),
  };
  const physical = new Map<string, Physical>();
  const fences = new Map<string, number>();
  const created = new Set<string>();
  const pairs = new Set<string>();
  const queue: { at: number; order: number; what: Happening }[] = [];
  let state: State = loadState({ ...stored, resources: [], plan: emptyPlan() });
  let now = 0;
  let order = 0;
  let steps = 0;
  let kind = true;
  const replaceFailed = chance(50);

  const later = (delay: number, what: Happening): void => {
    queue.push({ at: now + delay, order: (order += 1), what });
  };
  const must = (condition: boolean, what: string): void => {
    if (!condition) throw new Error(what);
  };

  const reload = (): void => {
    const plan = plans.get(stored.stack.target.plan) as Plan;
    state = loadState({ stack: stored.stack, resources: stored.resources.values(), plan });
  };

  const take = (inputs: readonly Input[]): { requests: number; written: number } => {
    for (const input of inputs) pairs.add(`${state.stack.phase} ${state.stack.action} ${inputKind(input)}`);
    const { changes, refusals } = step(state, inputs, toolsAt(now, { replaceFailed }));
    steps += 1;
    for (const error of refusals.values()) must(error.kind === 'final', `refused with ${error.code}`);
    if (!changes.dirty) {
      must(changes.resources.size + changes.removed.size + changes.effects.length === 0, 'changes without a record');
      return { requests: 0, written: 0 };
    }
    const acted = inputs.some(({ kind: what }) => what !== 'response');
    const hadFailed = stored.stack.phase === 'draining' && !acted;
    const before = new Map([...changes.resources.keys()].map((id) => [id, stored.resources.get(id)]));
    must(changes.stack.version === stored.stack.version + 1, 'the version of the stack does not follow the stored one');
    stored.stack = changes.stack;
    for (const resource of changes.resources.values()) {
      must(
        resource.version === (stored.resources.get(resource.id)?.version ?? 0) + 1,
        `the version of ${resource.id} does not follow the stored one`,
      );
      stored.resources.set(resource.id, resource);
    }
    for (const [id, version] of changes.removed) {
      must(stored.resources.get(id)?.version === version, `${id} was removed over another version`);
      stored.resources.delete(id);
    }
    let requests = 0;
    for (const effect of changes.effects) {
      if (effect.kind === 'timer') {
        const delay = Math.max(0, Date.parse(effect.at) - now);
        later(delay, {
          kind: 'input',
          input: {
            kind: 'timer',
            id: `timer ${effect.traversal} ${effect.timer}`,
            timer: effect.timer,
            traversal: effect.traversal,
          },
        });
      }
      if (effect.kind !== 'request') continue;
      const resource = changes.resources.get(effect.resource);
      // A request that the same step took back again reaches nobody.
      if (!resource?.request || resource.request.fence !== effect.fence) continue;
      requests += 1;
      must(!hadFailed, 'something was started after a failure');
      const last = before.get(resource.id)?.request;
      const ended = inputs.some(
        (input) =>
          (input.kind === 'response' &&
            input.response.resource_id === resource.id &&
            input.response.fence === last?.fence) ||
          (input.kind === 'timer' && (input.timer === 'grace' || input.timer === 'deadline')),
      );
      must(!last || ended, `C4: ${resource.id} is asked again while a request is pending`);
      send(resource);
      if (chance(5)) later(random(3000), { kind: 'provider', resource });
    }
    for (const { id, action, status, request, properties } of changes.resources.values()) {
      if (status !== 'COMPLETE' || action === 'DELETE' || request) continue;
      must(
        physical.get(id)?.applied === JSON.stringify(properties),
        `${id} is called complete, and is not what it says`,
      );
    }
    must(!state.stack.reason.startsWith('Defect'), state.stack.reason);
    check();
    return { requests, written: changes.resources.size };
  };

  const send = (resource: ResourceDocument): void => {
    const request = resource.request;
    if (!request) return;
    if (request.action === 'create') {
      must(!created.has(resource.id), `C6: ${resource.id} is made twice`);
      created.add(resource.id);
    }
    if (request.action === 'delete') {
      for (const [id, { uses }] of physical) {
        must(id === resource.id || !uses.has(resource.id), `C2: ${resource.id} is deleted while ${id} uses it`);
      }
    } else {
      for (const id of request.requires) {
        const used = state.resources.get(id);
        must(used?.status === 'COMPLETE' && physical.has(id), `C1: ${resource.id} uses ${id}, which is not complete`);
      }
    }
    later(random(200), { kind: 'provider', resource });
  };

  const serve = (resource: ResourceDocument): void => {
    const request = resource.request;
    if (!request || (fences.get(resource.id) ?? 0) > request.fence) return;
    const repeat = fences.get(resource.id) === request.fence;
    fences.set(resource.id, request.fence);
    const good = goodResponse(resource);
    const { attributes: _, ...rest } = good;
    const failed = { ...rest, status: 'failed', error: { code: 'ResourceFailed', message: 'no' } } as const;
    const fate = kind || repeat ? 0 : random(100);
    if (repeat) return;
    const answer = (input: Input, delay: number): void => {
      later(delay, { kind: 'input', input });
      if (chance(10)) later(delay + random(5000), { kind: 'input', input });
    };
    const id = `response ${resource.id} ${request.fence}`;
    const uses = new Set(usesOf(request.properties));
    if (chance(20)) {
      answer(
        { kind: 'response', id: `${id} progress`, response: { ...rest, status: 'in progress', message: 'at it' } },
        random(100),
      );
    }
    if (request.action === 'delete') {
      if (fate < 80) physical.delete(resource.id);
      if (fate >= 95) return;
      if (fate < 80) answer({ kind: 'response', id, response: good }, random(1000));
      else answer({ kind: 'response', id, response: failed }, random(1000));
      return;
    }
    if (request.action === 'update' && fate >= 70 && fate < 80) {
      answer({ kind: 'response', id, response: { ...failed, replace: true } }, random(1000));
      return;
    }
    const before = physical.get(resource.id);
    const made = fate < 80 || chance(50);
    if (made) {
      physical.set(resource.id, {
        uses: fate < 80 ? uses : new Set([...(before?.uses ?? []), ...uses]),
        applied: JSON.stringify(request.properties),
      });
    }
    if (fate >= 95) return;
    if (fate < 80) answer({ kind: 'response', id, response: good }, random(1000));
    else answer({ kind: 'response', id, response: failed }, random(1000));
  };

  const check = (): void => {
    const live = state.stack.phase !== 'idle';
    must(!live || state.inFlight.size > 0, 'C5: live, and nothing is in flight');
    must(live || state.inFlight.size === 0, 'C4: idle, and something is in flight');
    must(live === (state.stack.status === 'IN_PROGRESS'), 'C3: the status does not tell whether a traversal is live');
    for (const id of physical.keys()) must(state.resources.has(id), `C6: ${id} is forgotten`);
  };

  const run = (until: () => boolean): void => {
    for (let guard = 0; queue.length > 0 && !until(); guard += 1) {
      must(guard < 20_000, 'it never ends');
      queue.sort((a, b) => a.at - b.at || a.order - b.order);
      const { at, what } = queue.shift() as (typeof queue)[number];
      now = Math.max(now, at);
      if (what.kind === 'provider') serve(what.resource);
      else {
        const inputs = [what.input];
        for (let next = queue[0]; next?.what.kind === 'input' && next.at <= now + 100 && chance(40); next = queue[0]) {
          inputs.push(next.what.input);
          queue.shift();
        }
        take(inputs);
      }
      // The process dies, or another takes over: nothing but the documents is left.
      if (chance(10)) reload();
    }
  };

  let wishes: Record<string, Wish> = {};
  let count = 0;
  const nextPlan = (): { plan: Plan; hash: string } => {
    wishes = changeWishes(wishes, random);
    const plan = planOf(wishes);
    const hash = `${(count += 1)}`;
    plans.set(hash, plan);
    return { plan, hash };
  };
  const targetOf = (hash: string): StackDocument['target'] => ({ ...stored.stack.target, plan: hash });

  const first = nextPlan();
  kind = chance(30);
  stored.stack = { ...stored.stack, target: targetOf(first.hash) };
  reload();
  take([{ kind: 'create', id: 'create', plan: first.plan }]);
  for (let action = 0; action < 1 + random(5); action += 1) {
    const pause = now + random(4000);
    run(() => now >= pause);
    kind = chance(30);
    if (chance(10)) take([{ kind: 'delete', id: `delete ${action}` }]);
    else {
      const { plan, hash } = chance(15)
        ? { plan: plans.get(state.stack.target.plan) as Plan, hash: state.stack.target.plan }
        : nextPlan();
      take([{ kind: 'update', id: `update ${action}`, plan, target: targetOf(hash) }]);
    }
    if (chance(20)) run(() => false);
  }
  run(() => false);
  must(stored.stack.phase === 'idle', 'a traversal is left');
  kind = true;
  if (stored.stack.action !== 'DELETE') {
    const last = nextPlan();
    take([{ kind: 'update', id: 'last', plan: last.plan, target: targetOf(last.hash) }]);
    run(() => false);
    must(stored.stack.status === 'COMPLETE', `a stack that can finish does not: ${stored.stack.reason}`);
    must(stored.resources.size === Object.keys(wishes).length, 'C7: an original is left');
    for (const resource of stored.resources.values()) {
      const wish = wishes[resource.name];
      must(
        wish?.value === resource.properties['value'] && wish?.kind === resource.properties['kind'],
        `${resource.name} is not as wished`,
      );
      must(resource.status === 'COMPLETE' && physical.has(resource.id), `${resource.name} is not there`);
      const used = resource.requires
        .map((id) => stored.resources.get(id)?.name ?? id)
        .toSorted((a, b) => a.localeCompare(b));
      must(
        JSON.stringify(used) === JSON.stringify([...(wish?.requires ?? [])].sort()),
        `${resource.name} uses ${used.join()}`,
      );
    }
    must(physical.size === stored.resources.size, 'C6: something is forgotten');
    const same = take([{ kind: 'update', id: 'same', plan: last.plan, target: targetOf(last.hash) }]);
    must(same.requests === 0 && same.written === 0, 'C8: what is unchanged was sent or written');
    must(stored.stack.status === 'COMPLETE', 'an update of nothing does not end at once');
  }
  if (stored.stack.deleted_at === null) {
    take([{ kind: 'delete', id: 'the end' }]);
    run(() => false);
  }
  must(
    stored.stack.deleted_at !== null && stored.stack.status === 'COMPLETE',
    `delete does not end: ${stored.stack.reason}`,
  );
  must(stored.resources.size === 0 && physical.size === 0, 'C6: something is left after the deletion');
  return { steps, pairs };
}

function usesOf(properties: JsonObject): string[] {
  const from = properties['from'];
  return (Array.isArray(from) ? from : []).map((text) => (JSON.parse(text as string) as string[])[0] as string);
}

const inputKind = (input: Input): string => (input.kind === 'timer' ? input.timer : input.kind);

/** Changes, adds, removes and re-orders: dependencies may turn round between two plans. */
function changeWishes(before: Readonly<Record<string, Wish>>, random: (below: number) => number): Record<string, Wish> {
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].filter((name) => random(100) < (before[name] ? 85 : 50));
  const rank = new Map(names.map((name) => [name, random(1000)]));
  const after: Record<string, Wish> = {};
  for (const name of names) {
    const old = before[name];
    const keeps = old?.requires.every(
      (required) => names.includes(required) && (rank.get(required) ?? 0) < (rank.get(name) ?? 0),
    );
    after[name] = {
      requires:
        old && keeps && random(100) < 60
          ? old.requires
          : names.filter((other) => (rank.get(other) ?? 0) < (rank.get(name) ?? 0) && random(100) < 35),
      value: old && random(100) < 70 ? old.value : random(1000),
      kind: old && random(100) < 75 ? old.kind : random(1000),
    };
  }
  return after;
}
