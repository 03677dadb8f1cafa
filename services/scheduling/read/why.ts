/**
 * Explains why nothing is happening: follows the waits from a stack to the queue and the message at the end.
 * Read-only, and only as recent as the store. During changes the answer describes the state of a moment ago.
 */
import { byNaturalOrder } from '@anneal/contracts/natural-order.ts';
import { setTimeout as delay } from 'node:timers/promises';
import { contextType } from '@anneal/hot/types/context.ts';
import type { DeadLetter } from '@anneal/bus/port.ts';
import { AnnealError, type Failure } from '@anneal/contracts/errors.ts';
import { isObject } from '@anneal/contracts/json.ts';
import { mostIdle, type stackWhy } from '@anneal/contracts/calls/stack-progress.ts';
import { lastLines, rootCause } from '@anneal/contracts/root-cause.ts';
import {
  isNested,
  pathInTree,
  representative,
  type ExternalWait,
  type ResourceDocument,
  type StackDocument,
} from '@anneal/convergence/documents.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { z } from 'zod';
import type { SchedulingCollections } from '../collections.ts';
import { History } from '../events/history.ts';
import { cooldownEnd } from '../groups/cooldown.ts';
import { scalingGroup } from '../groups/facts.ts';
import { openProperties } from '@anneal/runtime/secrets/open.ts';
import { hasRoom } from '../groups/warm.ts';
import type { Limiter } from '../limiter/limiter.ts';
import type { LostServers } from '../lost/lost-servers.ts';
import type { WaitLookup } from '../provider/waiting.ts';
import type { ProviderDirectory } from '../providers.ts';
import type { StackReading } from './reading.ts';
import type { Shards } from '../shard-map/shards.ts';
import type { WorkflowDefinitions } from '../workflows/definitions.ts';
import { triggeredExecution } from '../workflows/triggers/start.ts';
import { changedAt, isCancelled } from '../views.ts';
import { whyExecution, withoutStop } from './why-execution.ts';

type Question = z.infer<(typeof stackWhy)['data']>;
type Why = z.infer<(typeof stackWhy)['answer']>;
type Link = Why['chain'][number];
type End = Omit<Why, 'chain'>;
/** The wait of an idle group, and whether it ends by itself. */
interface Waiting {
  readonly ends: boolean;
  readonly link: Link;
  readonly end: End;
}

/** The reason of a resource whose provider gave none. */
const unnamed = 'state changed';

/** The most requests of a stack that are read to find one that is sent. */
const mostHeld = 20;
/** The stacks of a tree whose contexts are searched for failures, the outermost first. */
const mostSearched = 500;

/** The most resources that an explanation names. */
const mostNamed = 5;
/** The deepest nesting that an explanation follows. */
const deepest = 100;

interface Shared {
  readonly context: ServiceContext;
  readonly collections: SchedulingCollections;
  readonly providers: ProviderDirectory;
  readonly reading: StackReading;
  readonly gate: Limiter;
  readonly waiting: WaitLookup;
  readonly shards: Shards;
  readonly definitions: Pick<WorkflowDefinitions, 'spec'>;
  readonly servers: Pick<LostServers, 'pending'>;
}

/** A stack, and the stacks that lead to it from the one that was asked about. */
interface Placed {
  readonly one: StackDocument;
  readonly path: readonly StackDocument[];
}

export function createWhy(shared: Shared): (question: Question) => Promise<Why> {
  const { collections, reading } = shared;
  return async ({ project, stack: which, resource: name }) => {
    const stack = await reading.find({ project, stack: which }).catch(async (error: unknown) => {
      const asExecution = { collections, spec: (hash: string) => shared.definitions.spec(hash) };
      const execution = name === undefined ? await whyExecution(asExecution, { project, id: which }) : undefined;
      if (execution) return execution;
      throw error;
    });
    if ('chain' in stack) return stack;
    const explanation = new Explanation(shared);
    if (name === undefined) return { ...(await explanation.ofStack(stack)), chain: explanation.chain };
    const resource = await foundSoon(collections, stack, name);
    if (resource === 'not started') {
      const { exits } = await explanation.ofStack(stack);
      const summary = `Stack ${stack.name} is about to start: its shard has not taken its plan yet, so it has no resources.`;
      return { summary, exits, chain: explanation.chain };
    }
    if (!resource) {
      throw new AnnealError('NotFound', `The Resource (${name}) could not be found in Stack ${stack.name}.`);
    }
    return { ...(await explanation.ofResource(stack, resource)), chain: explanation.chain };
  };
}

/** How long a question waits for the resources of a stack that has just begun. */
const beginsWithinMs = 1_000;
const lookEveryMs = 50;

/**
 * The resource of a name. The resources of a stack are stored a moment after the stack begins, so waits for them a
 * little. `not started` for a stack in progress that has none even then.
 */
async function foundSoon(
  { resources, stacks }: Pick<SchedulingCollections, 'resources' | 'stacks'>,
  { id: stackId }: StackDocument,
  name: string,
): Promise<ResourceDocument | 'not started' | undefined> {
  for (const end = performance.now() + beginsWithinMs; ;) {
    // Read the stack first: the resources of a stack that has ended are stored.
    const stack = await stacks.get(stackId);
    const found = await resources.find({ where: { stack_id: stackId } });
    const resource = representative(found.filter((one) => one.name === name));
    if (resource || stack?.status !== 'IN_PROGRESS') return resource;
    if (performance.now() > end) return found.length === 0 ? 'not started' : undefined;
    await delay(lookEveryMs);
  }
}

/** One answer: each method adds what it passes to the chain, and returns what is at the end. */
class Explanation {
  readonly chain: Link[] = [];
  readonly #shared: Shared;

  constructor(shared: Shared) {
    this.#shared = shared;
  }

  async ofStack(stack: StackDocument): Promise<End> {
    const state = `${stack.action}_${isCancelled(stack) ? 'CANCELLED' : stack.status}`;
    this.chain.push({
      object: `stack ${stack.name}`,
      state: stack.phase === 'paused' ? `${state}, paused` : state,
      // The reason of a failed or paused stack wraps the failure that follows, in Heat's words.
      reason: (stack.status === 'FAILED' || stack.phase === 'paused') && stack.failures.length > 0 ? '' : stack.reason,
      since: changedAt(stack),
    });
    if (isCancelled(stack)) return this.#ofCancelled(stack);
    if (stack.phase === 'paused') return this.#ofPaused(stack);
    if (stack.status === 'COMPLETE') {
      const inside = await this.#ofInside(stack);
      if (!('idle' in inside)) return inside;
      const summary = `Stack ${stack.name} is idle: ${stack.reason}.`;
      return { summary, exits: [], idle_stacks: inside.idle.slice(0, mostIdle) };
    }
    return stack.status === 'FAILED' ? this.#ofFailed(stack) : this.#ofInProgress(stack);
  }

  /**
   * Explains a complete stack in which something works, has failed or waits by itself: a nested stack, as a group that
   * scales, or else a lost server that is going to be replaced, or a group that cannot fill its warm pool or cools down.
   * Without any of these, returns the ids of the stack and of those inside: all are idle.
   */
  async #ofInside(stack: StackDocument): Promise<End | { readonly idle: readonly string[] }> {
    const tree = await this.#shared.collections.stacks.find({ where: { root: stack.root } });
    const byId = new Map(tree.map((one) => [one.id, one]));
    const inside = tree
      .filter(({ deleted_at: gone }) => gone === null)
      .flatMap((one) => {
        const path = pathBetween(stack, one, byId);
        return path ? [{ one, path }] : [];
      })
      // The outermost contains the others. Of several, the one that has waited longest.
      .toSorted((a, b) => a.path.length - b.path.length || sinceOfStack(a.one).localeCompare(sinceOfStack(b.one)));
    const busy = inside.find(({ one: { status, phase } }) => status !== 'COMPLETE' || phase === 'paused');
    if (busy) {
      this.#around(busy.path);
      return this.ofStack(busy.one);
    }
    const groups = [{ one: stack, path: [stack] }, ...inside];
    const resource = (await this.#ofContexts(groups)) ?? (await this.#ofLost(groups));
    if (resource) return resource;
    const explained = groups.flatMap(({ one, path }) => {
      const holder = one.parent === null ? undefined : byId.get(one.parent.stack_id);
      const found = this.#ofPool(one, holder) ?? this.#ofCooldown(one, holder);
      return found ? [{ ...found, path }] : [];
    });
    // A cooldown ends by itself.
    const found = explained.find(({ ends }) => !ends) ?? explained[0];
    if (!found) return { idle: groups.map(({ one: { id } }) => id) };
    this.#around(found.path);
    this.chain.push(found.link);
    return found.end;
  }

  /** Explains the first context whose configs failed on a member. Undefined when there is none. */
  async #ofContexts(stacks: readonly Placed[]): Promise<End | undefined> {
    const ids = stacks.slice(0, mostSearched).map(({ one: { id } }) => id);
    const contexts = await this.#shared.collections.resources.find({
      where: { type: contextType.type, stack_id: { in: ids } },
    });
    const failed = contexts.find((context) => ofContext(context) !== undefined);
    return failed && this.#ofResourceIn(stacks, failed);
  }

  /** Explains the lost server that is replaced next. Undefined when there is none. */
  async #ofLost(stacks: readonly Placed[]): Promise<End | undefined> {
    const root = stacks[0]?.one.root;
    const pending = root === undefined ? [] : await this.#shared.servers.pending({ root });
    for (const { resource } of pending) {
      const end = await this.#ofResourceIn(stacks, resource);
      if (end) return end;
    }
    return undefined;
  }

  /** Undefined when the resource is in none of the stacks. */
  async #ofResourceIn(stacks: readonly Placed[], resource: ResourceDocument): Promise<End | undefined> {
    const around = stacks.find(({ one }) => one.id === resource.stack_id);
    if (!around) return undefined;
    // The outermost stack is in the chain; the one of the resource is not yet.
    if (around !== stacks[0]) this.#around([...around.path, around.one]);
    return this.ofResource(around.one, resource);
  }

  /** Adds the idle stacks around the last of a path, because they tell where it is. */
  #around(path: readonly StackDocument[]): void {
    for (const { name, action, status, reason, updated_at: at } of path.slice(0, -1))
      this.chain.push({ object: `stack ${name}`, state: `${action}_${status}`, reason, since: at });
  }

  #ofPaused(stack: StackDocument): End {
    const name = nameOf(stack);
    const [failed] = stack.failures;
    this.#pushFailure(stack);
    const cause = failed ? `${rootCause(failed.resource, failed.failure)}. ` : '';
    // To skip a failure inside a nested stack, skip the resource of this stack that contains it.
    const skip = failed ? [`anneal resource skip ${name} ${failed.resource.split('.resources.', 1)[0] ?? ''}`] : [];
    return {
      summary: `${cause}Stack ${stack.name} is paused after ${failed ? 'this' : 'a failure'}; it waits for an operator command.`,
      exits: [`anneal stack retry ${name}`, ...skip, `anneal stack rollback ${name}`, ...cancelOf(stack, name)],
    };
  }

  #ofFailed(stack: StackDocument): End {
    const name = nameOf(stack);
    const [failed] = stack.failures;
    this.#pushFailure(stack);
    const waits = `Stack ${stack.name} has failed and waits for an operator command`;
    return {
      summary: failed ? `${rootCause(failed.resource, failed.failure)}. ${waits}.` : `${waits}: ${stack.reason}`,
      exits: [
        ...(failed ? exitsOfDeath(failed.failure) : []),
        `anneal stack failures ${name}`,
        `anneal stack retry ${name}`,
        `anneal stack rollback ${name}`,
        `anneal stack update ${name}`,
        `anneal stack delete ${name}`,
      ],
    };
  }

  /** Names what had begun when the action was cancelled, and has not ended yet. */
  async #ofCancelled(stack: StackDocument): Promise<End> {
    const resources = await this.#shared.collections.resources.find({ where: { stack_id: stack.id } });
    const running = resources.filter(({ request }) => request !== null).map(({ name }) => name);
    const shown = running.slice(0, mostNamed).join(', ');
    const rest = running.length > mostNamed ? ` and ${running.length - mostNamed} more` : '';
    const name = nameOf(stack);
    const goesOn = running.length === 0 ? 'nothing of it runs' : `what had begun goes on to its end: ${shown}${rest}`;
    return {
      summary: `The ${stack.action.toLowerCase()} of stack ${stack.name} was cancelled; ${goesOn}.`,
      exits: [`anneal stack retry ${name}`, `anneal stack update ${name}`, `anneal stack delete ${name}`],
    };
  }

  /** Adds the root cause of a failed or paused stack to the chain. */
  #pushFailure({ failures: [failed], updated_at: at }: StackDocument): void {
    if (!failed) return;
    this.chain.push(linkOfFailure(failed, at), ...linksBelow(failed.resource, failed.failure));
  }

  async #ofInProgress(stack: StackDocument): Promise<End> {
    const resources = await this.#shared.collections.resources.find({ where: { stack_id: stack.id } });
    const pending = resources
      .filter(({ hook, request }) => hook !== null || request !== null)
      .toSorted(
        (a, b) =>
          Number(b.hook !== null) - Number(a.hook !== null) ||
          sinceOf(a).localeCompare(sinceOf(b)) ||
          byNaturalOrder(a.name, b.name),
      );
    const first = await this.#firstSent(pending);
    const pause = stack.batch?.until ?? null;
    if (!first && pause !== null) {
      return {
        summary: `Stack ${stack.name} pauses between two batches of its members until ${pause}.`,
        exits: await this.#cancelAround(stack),
      };
    }
    if (!first) return this.#ofShard(stack);
    const end = await this.ofResource(stack, first);
    const others = pending.length - 1;
    return others === 0
      ? end
      : {
          ...end,
          summary: `${end.summary} (${others} more ${ofWhat(stack)} ${others === 1 ? 'waits' : 'wait'} too.)`,
        };
  }

  /** The first that does not only wait for its turn, because requests in flight of the stack may be what it waits for. */
  async #firstSent(pending: readonly ResourceDocument[]): Promise<ResourceDocument | undefined> {
    for (const one of pending.slice(0, mostHeld)) {
      if (one.hook || !(await this.#shared.gate.heldBehind(one))) return one;
    }
    return pending[0];
  }

  /** Explains a stack with nothing in flight: a message must be on its way to the stack. */
  async #ofShard(stack: StackDocument): Promise<End> {
    const queue = this.#shared.shards.queueOf(stack.id);
    const { depth, consumers } = await this.#measured(queue);
    const summary =
      consumers === 0
        ? `Stack ${stack.name} waits for messages in ${queue}, but no scheduling service consumes from it.`
        : depth > 0
          ? `Stack ${stack.name} waits until the messages in ${queue} are handled: ${depth}.`
          : `Stack ${stack.name} has no request in flight: it is between two steps, or its deadline (${stack.deadline ?? 'none'}) will end it.`;
    return { summary, exits: ['anneal service list', `anneal queue peek ${queue}`] };
  }

  async ofResource(stack: StackDocument, resource: ResourceDocument): Promise<End> {
    this.chain.push({
      object: `resource ${resource.name} (${resource.type})`,
      state: `${resource.action}_${resource.status}`,
      reason: resource.reason === unnamed ? '' : resource.reason,
      since: sinceOf(resource),
    });
    if (resource.hook) return this.#ofHook(stack, resource, resource.hook);
    const child = isNested(resource) ? await this.#shared.collections.stacks.get(resource.id) : undefined;
    if (!resource.request) {
      const inside = child?.deleted_at === null ? await this.#ofIdleStack(child) : undefined;
      if (inside && !('idle' in inside)) return inside;
      const end = (await this.#ofLoss(stack, resource)) ?? this.#ofIdle(stack, resource);
      // Without exits, it is idle and well as far as this service knows.
      return end.exits.length > 0 ? end : { ...end, ...idleIn(stack, resource, inside?.idle) };
    }
    if (child) return this.ofStack(child);
    return this.#ofRequest(stack, resource);
  }

  async #ofHook(stack: StackDocument, resource: ResourceDocument, hook: ExternalWait): Promise<End> {
    const until = hook.deadline === null ? '' : ` until ${hook.deadline}, then ${hook.default ?? 'continue'}`;
    this.chain.push({
      object: `hook ${hook.name}`,
      state: 'waiting',
      reason: until === '' ? '' : `waits${until}`,
      since: hook.since,
    });
    const exit =
      hook.kind === 'hook'
        ? `anneal hook clear ${commandPath(stack, resource)} ${hook.name}`
        : `anneal hook complete ${commandPath(stack, resource)} ${hook.name} continue --token …`;
    const held = `${pathInTree(stack, resource.name)} is held at hook "${hook.name}"`;
    const execution = await this.#ofExecution(stack, resource, hook);
    if (execution) return { summary: `${held}. ${execution.summary}`, exits: [...execution.exits, exit] };
    const actor = hook.kind === 'hook' ? 'an operator clears' : 'a listener completes';
    return { summary: `${held} until ${actor} it.`, exits: [exit] };
  }

  /** Explains the execution that a trigger started for the wait at a hook. Undefined when there is none. */
  async #ofExecution(stack: StackDocument, resource: ResourceDocument, hook: ExternalWait): Promise<End | undefined> {
    const { collections, definitions } = this.#shared;
    const history = new History(collections);
    const events = await history.read({ stackId: stack.id, resource: resource.name, descending: true, limit: 100 });
    const began = events.find(({ hook: reported }) => reported?.token === hook.token && reported.state === 'waiting');
    const { project } = stack;
    const triggers = began ? await collections.triggers.find({ where: { project }, orderBy: ['id'] }) : [];
    const ids = triggers.map(({ id }) => triggeredExecution(id, began?.id ?? ''));
    const [started] = await collections.executions.getMany(ids);
    if (!started) return undefined;
    const asExecution = { collections, spec: (hash: string) => definitions.spec(hash) };
    const found = await whyExecution(asExecution, { project, id: started.id });
    if (!found) return undefined;
    const { chain, ...end } = found;
    this.chain.push(...chain);
    return end;
  }

  /** Explains the nested stack of an idle resource. When it is idle too, returns its id and those of the stacks inside. */
  #ofIdleStack(child: StackDocument): Promise<End | { readonly idle: readonly string[] }> {
    if (child.status !== 'COMPLETE' || child.phase === 'paused') return this.ofStack(child);
    return this.#ofInside(child);
  }

  /** Explains a group that cannot fill its warm pool. */
  #ofPool(child: StackDocument, holder: StackDocument | undefined): Waiting | undefined {
    const kept = scalingGroup(child);
    const unfilled = kept?.members.scaling?.unfilled;
    if (!kept || !unfilled) return undefined;
    if (!hasRoom(openProperties(this.#shared.context.secrets, kept.properties), kept.members.warm)) return undefined;
    const name = child.parent?.resource_name ?? child.name;
    const { since, reason } = unfilled;
    return {
      ends: false,
      link: { object: `warm pool of ${name}`, state: 'waiting', reason, since },
      end: {
        summary: `Group ${name} is in service, and cannot fill its warm pool: ${withoutStop(reason)}. It tries again each minute.`,
        exits: [`anneal project quota ${child.project}`, `anneal group show ${nameOf(holder ?? child)} ${name}`],
      },
    };
  }

  /** Explains a group that ignores its policies for a time after it has changed its size. */
  #ofCooldown(child: StackDocument, holder: StackDocument | undefined): Waiting | undefined {
    const state = scalingGroup(child)?.members;
    const until = state ? cooldownEnd(state.cooldown, child) : null;
    if (until === null || until <= this.#shared.context.now().toISOString()) return undefined;
    const name = child.parent?.resource_name ?? child.name;
    const { blocks } = state?.cooldown ?? {};
    return {
      ends: true,
      link: { object: `cooldown of ${name}`, state: 'waiting', reason: `until ${until}`, since: child.completed_at },
      end: {
        summary: `Group ${name} is idle and cools down until ${until}: meanwhile its policies ${blocks === 'in' ? 'do not make it smaller' : 'change nothing'}.`,
        exits: [`anneal group resize ${nameOf(holder ?? child)} ${name} SIZE`],
      },
    };
  }

  /** Explains a server that is lost and going to be replaced. */
  async #ofLoss(stack: StackDocument, resource: ResourceDocument): Promise<End | undefined> {
    const { id, failure } = resource;
    if (failure) return undefined;
    const name = pathInTree(stack, resource.name);
    const { servers, context } = this.#shared;
    const [next] = await servers.pending({ server: id });
    if (!next) return undefined;
    const { at, since, text } = next;
    const when = Date.parse(at) > context.now().getTime() ? `at ${at}` : 'as soon as its stack is at rest';
    this.chain.push({ object: `replacement of ${name}`, state: 'waiting', reason: text, since });
    return {
      summary: `Server ${name} is lost: ${text}. Anneal replaces it ${when}, unless it is back before.`,
      exits: [`anneal host show ${id}`, `anneal resource mark-unhealthy ${commandPath(stack, resource)}`],
    };
  }

  /** Explains a resource that has no request in flight. */
  #ofIdle(stack: StackDocument, resource: ResourceDocument): End {
    const { failure } = resource;
    if (!failure) {
      const summary = `${pathInTree(stack, resource.name)} is idle: it is ${resource.action}_${resource.status}.`;
      return ofContext(resource) ?? { summary, exits: [] };
    }
    this.chain.push(...linksBelow(resource.name, failure));
    return {
      summary: `${rootCause(pathInTree(stack, resource.name), failure)}.`,
      exits: [
        ...exitsOfDeath(failure),
        `anneal resource show ${commandPath(stack, resource)}`,
        `anneal stack retry ${nameOf(stack)}`,
      ],
    };
  }

  /** The command that cancels the root stack, because only its action can be cancelled; none while it is idle. */
  async #cancelAround({ root: id }: StackDocument): Promise<string[]> {
    const root = await this.#shared.collections.stacks.get(id);
    return root?.status === 'IN_PROGRESS' ? cancelOf(root, root.name) : [];
  }

  async #ofRequest(stack: StackDocument, resource: ResourceDocument): Promise<End> {
    const { providers, shards, waiting } = this.#shared;
    const again = resource.request?.not_before;
    if (again) {
      return {
        summary: `The request to ${verbOf(resource)} ${pathInTree(stack, resource.name)} is sent again at ${again}, because it failed in a way that may pass: ${withoutStop(resource.reason)}.`,
        exits: [`anneal resource show ${commandPath(stack, resource)}`, ...(await this.#cancelAround(stack))],
      };
    }
    const wait = await waiting({ stack, resource });
    if (wait) {
      const { object, state, reason, summary, exits } = wait;
      this.chain.push({ object, state, reason, since: sinceOf(resource) });
      return { summary, exits: [...exits, ...(await this.#cancelAround(stack))] };
    }
    await providers.refresh();
    const queue = isNested(resource) ? shards.queueOf(resource.id) : providers.queueOf(resource.type);
    if (queue === undefined) {
      return {
        summary: `The request to ${verbOf(resource)} ${pathInTree(stack, resource.name)} waits for a provider: none has announced ${resource.type}.`,
        exits: ['start its provider', ...(await this.#cancelAround(stack))],
      };
    }
    return (await this.#ofHeldRequest(stack, resource, queue)) ?? this.#ofSentRequest(stack, resource, queue);
  }

  /** Explains a request that waits for its turn, before it is sent. Undefined when it is sent. */
  async #ofHeldRequest(stack: StackDocument, resource: ResourceDocument, queue: string): Promise<End | undefined> {
    const held = await this.#shared.gate.heldBehind(resource);
    if (!held) return undefined;
    await this.#measured(queue);
    const numbers = held.here
      ? `: this project has ${counted(held.project)} in flight (limit ${held.limits.project}), and all projects have ${held.provider} in ${queue} (limit ${held.limits.provider})`
      : '';
    return {
      summary: `The request to ${verbOf(resource)} ${pathInTree(stack, resource.name)} waits for its turn${numbers}.`,
      exits: [
        `anneal queue peek ${queue}`,
        'raise ANNEAL_SCHEDULING_PROJECT_REQUESTS or ANNEAL_SCHEDULING_PROVIDER_REQUESTS',
        ...(await this.#cancelAround(stack)),
      ],
    };
  }

  /** Explains a request that its provider has, or that is on its way to the provider. */
  async #ofSentRequest(stack: StackDocument, resource: ResourceDocument, queue: string): Promise<End> {
    const { depth, consumers } = await this.#measured(queue);
    const path = pathInTree(stack, resource.name);
    const request = `The request to ${verbOf(resource)} ${path}`;
    const dead = (await this.#deadLetters(queue)).find(({ bytes }) => bytes.includes(resource.id));
    if (dead) {
      this.chain.push({
        object: `dead letter ${dead.id}`,
        state: `dead after ${dead.attempts} attempts`,
        reason: dead.failure.message,
        since: dead.diedAt,
      });
      return {
        summary: `${request} is a dead letter: ${dead.failure.message}`,
        exits: [`anneal dead-letter show ${dead.id}`, `anneal dead-letter replay ${dead.id}`],
      };
    }
    if (consumers === 0) {
      return {
        summary: `${request} waits in ${queue}: the service that consumes from it is down.`,
        exits: ['anneal service list'],
      };
    }
    const exits = [`anneal resource show ${commandPath(stack, resource)}`, ...(await this.#cancelAround(stack))];
    // The provider waits too, and says for what.
    if (resource.reason.startsWith('waiting for a node: ')) {
      const summary = `${path} waits for a node: ${resource.reason.slice('waiting for a node: '.length)}.`;
      return { summary, exits: ['anneal node list', ...exits] };
    }
    const detail = resource.reason === unnamed ? '' : `: ${resource.reason}`;
    const behind = depth > 0 ? `; ${counted(depth)} ${depth === 1 ? 'waits' : 'wait'} in ${queue}` : '';
    return {
      request: { stack_id: stack.id, resource: resource.name, path, queue, resource_id: resource.id },
      summary: `The provider has worked on ${path} since ${sinceOf(resource)}${detail}${behind}.`,
      exits,
    };
  }

  async #measured(queue: string): Promise<{ depth: number; consumers: number }> {
    const { bus, now } = this.#shared.context;
    try {
      const { depth, inFlight, consumers, oldestAgeMs } = await bus.queues.measure(queue);
      const since = oldestAgeMs === null ? null : new Date(now().getTime() - oldestAgeMs).toISOString();
      const state = `${depth} waiting, ${inFlight} in flight`;
      this.chain.push({
        object: `queue ${queue}`,
        state,
        reason: `${consumers} ${consumers === 1 ? 'consumer' : 'consumers'}`,
        since,
      });
      return { depth, consumers };
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.chain.push({ object: `queue ${queue}`, state: 'depth unknown', reason, since: null });
      return { depth: 0, consumers: 1 };
    }
  }

  #deadLetters(queue: string): Promise<DeadLetter[]> {
    return this.#shared.context.bus.deadLetters.list({ queue, limit: 100 }).catch(() => []);
  }
}

/** Where the hosts of an idle resource are: in the stacks nested in it, or one that is the resource itself. */
const idleIn = (
  stack: StackDocument,
  { name }: ResourceDocument,
  inside: readonly string[] | undefined,
): Pick<End, 'idle_stacks' | 'idle_resource'> =>
  inside ? { idle_stacks: inside.slice(0, mostIdle) } : { idle_stacks: [stack.id], idle_resource: name };

const counted = (requests: number): string => `${requests} ${requests === 1 ? 'request' : 'requests'}`;

const verbOf = ({ request }: ResourceDocument): string => request?.action ?? 'work';

/** The stacks below `outer` down to `inner`, which is the last; undefined when it is not inside. */
function pathBetween(
  outer: StackDocument,
  inner: StackDocument,
  byId: ReadonlyMap<string, StackDocument>,
): StackDocument[] | undefined {
  const path: StackDocument[] = [];
  for (let one: StackDocument | undefined = inner; one && path.length <= deepest;) {
    if (one.id === outer.id) return path.length === 0 ? undefined : path;
    path.unshift(one);
    one = one.parent === null ? undefined : byId.get(one.parent.stack_id);
  }
  return undefined;
}

const sinceOfStack = (stack: StackDocument | undefined): string => (stack ? changedAt(stack) : '');

/** The stack and the resource in a command: the root of the tree, and the path from it. */
const commandPath = (stack: StackDocument, { name }: ResourceDocument): string =>
  `${stack.parent?.place?.root?.stack_name ?? nameOf(stack)} ${pathInTree(stack, name)}`;

/** The resources of a nested stack belong to the resource that it is. */
const ofWhat = ({ name, parent }: StackDocument): string => (parent?.place ? `of ${parent.place.path}` : `in ${name}`);

/** The name of a stack in a command; the id for a nested stack. */
const nameOf = ({ depth, name, id }: StackDocument): string => (depth === 0 ? name : id);

const sinceOf = ({ hook, started_at, updated_at }: ResourceDocument): string => hook?.since ?? started_at ?? updated_at;

/** A context whose configs failed on a member between two updates of its stack. */
function ofContext({ type, name, id, attributes }: ResourceDocument): End | undefined {
  const failures = type === contextType.type ? attributes['failures'] : undefined;
  const [first] = Array.isArray(failures) ? failures.filter(isObject) : [];
  if (!first) return undefined;
  const text = (key: string): string => (typeof first[key] === 'string' ? first[key] : '');
  return {
    summary: `${name} could not run ${text('config')} on ${text('member')}: ${text('reason')}`,
    exits: [`anneal deployment show ${text('deployment_id')}`, `anneal context show ${id}`],
  };
}

const linkOfFailure = ({ resource, type, failure }: StackDocument['failures'][number], since: string | null): Link => ({
  object: `resource ${resource} (${type})`,
  state: `failed with ${failure.code}`,
  reason: failure.message,
  since,
});

const letterOf = ({ details }: Failure): string | undefined =>
  typeof details?.['dead_letter'] === 'string' ? details['dead_letter'] : undefined;

const linkOfDeath = (failure: Failure): Link | undefined => {
  const letter = letterOf(failure);
  if (letter === undefined) return undefined;
  const queue = failure.details?.['queue'];
  const where = typeof queue === 'string' ? ` of ${queue}` : '';
  return { object: `dead letter ${letter}${where}`, state: 'dead', reason: failure.message, since: null };
};

/** The dead letter of a failure, and the last lines of its script when the summary does not hold them all. */
function linksBelow(name: string, failure: Failure): Link[] {
  const letter = linkOfDeath(failure);
  const lines = lastLines(failure);
  return [
    ...(letter ? [letter] : []),
    ...(lines.length > 1
      ? [{ object: `script of ${name}`, state: 'wrote last', reason: lines.join(' ⏎ '), since: null }]
      : []),
  ];
}

const exitsOfDeath = (failure: Failure): string[] => {
  const letter = letterOf(failure);
  return letter === undefined ? [] : [`anneal dead-letter show ${letter}`];
};

/** The command that cancels. A cancelled update rolls back; any other action can only stop where it is. */
function cancelOf({ action, phase }: StackDocument, name: string): string[] {
  if (action === 'UPDATE') return [`anneal stack cancel ${name}`];
  return action === 'CREATE' || phase === 'paused' ? [`anneal stack cancel ${name} --no-rollback`] : [];
}
