/**
 * Explains why nothing is happening: follows the waits from a stack to the queue and the message at the end.
 * Read-only, and only as recent as the store. During changes the answer describes the state of a moment ago.
 */
import type { DeadLetter } from '@anneal/bus/port.ts';
import { AnnealError, type Failure } from '@anneal/contracts/errors.ts';
import { isObject } from '@anneal/contracts/json.ts';
import type { stackWhy } from '@anneal/contracts/scheduling.ts';
import { isNested, representative, type ResourceDocument, type StackDocument } from '@anneal/convergence/documents.ts';
import type { ServiceContext } from '@anneal/runtime/service.ts';
import type { z } from 'zod';
import type { SchedulingCollections } from '../collections.ts';
import type { Limiter } from '../limiter/limiter.ts';
import type { WaitLookup } from '../provider/waiting.ts';
import type { ProviderDirectory } from '../shard/providers.ts';
import type { StackReading } from './reading.ts';
import type { Shards } from '../shard/shards.ts';

type Question = z.infer<(typeof stackWhy)['data']>;
type Why = z.infer<(typeof stackWhy)['answer']>;
type Link = Why['chain'][number];
type End = Omit<Why, 'chain'>;

export function createWhy(parameters: {
  context: ServiceContext;
  collections: SchedulingCollections;
  providers: ProviderDirectory;
  reading: StackReading;
  gate: Limiter;
  waiting: WaitLookup;
  shards: Shards;
}): (question: Question) => Promise<Why> {
  const { context, collections, providers, reading, gate, waiting, shards } = parameters;
  const { bus } = context;

  const resourcesOf = (stack: StackDocument) => collections.resources.find({ where: { stack_id: stack.id } });

  async function ofStack(stack: StackDocument, chain: Link[]): Promise<End> {
    const state = `${stack.action}_${stack.status}`;
    chain.push({
      object: `stack ${stack.name}`,
      state: stack.phase === 'paused' ? `${state}, paused` : state,
      reason: stack.reason,
      since: stack.updated_at ?? stack.created_at,
    });
    const name = nameOf(stack);
    if (stack.phase === 'paused') {
      const failed = stack.failures[0];
      // To skip a failure inside a nested stack, skip the resource of this stack that contains it.
      const skip = failed ? [`anneal resource skip ${name} ${failed.resource.split('.resources.', 1)[0] ?? ''}`] : [];
      return {
        summary: `Stack ${stack.name} is paused after ${failed ? `the failure of ${failed.resource}` : 'a failure'}; it waits for an operator command.`,
        exits: [`anneal stack retry ${name}`, ...skip, `anneal stack rollback ${name}`, ...cancelOf(stack, name)],
      };
    }
    if (stack.status === 'COMPLETE') return { summary: `Stack ${stack.name} is idle: ${stack.reason}.`, exits: [] };
    if (stack.status === 'FAILED') {
      const [failed] = stack.failures;
      if (failed) chain.push(linkOfFailure(failed, stack.updated_at));
      const letter = failed && linkOfDeath(failed.failure);
      if (letter) chain.push(letter);
      return {
        summary: `Stack ${stack.name} has failed and waits for an operator command: ${stack.reason}`,
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
    const pending = (await resourcesOf(stack))
      .filter(({ hook, request }) => hook !== null || request !== null)
      .toSorted((a, b) => Number(b.hook !== null) - Number(a.hook !== null) || sinceOf(a).localeCompare(sinceOf(b)));
    const [first] = pending;
    const pause = stack.batch?.until ?? null;
    if (!first && pause !== null) {
      return {
        summary: `Stack ${stack.name} pauses between two batches of its members until ${pause}.`,
        exits: await cancelAround(stack),
      };
    }
    if (!first) return ofShard(stack, chain);
    const end = await ofResource(stack, first, chain);
    const others = pending.length - 1;
    return others === 0
      ? end
      : { ...end, summary: `${end.summary} (The same is true of ${others} more in ${stack.name}.)` };
  }

  /** Explains a stack with nothing in flight: a message must be on its way to the stack. */
  async function ofShard(stack: StackDocument, chain: Link[]): Promise<End> {
    const queue = shards.queueOf(stack.id);
    const { depth, consumers } = await measured(queue, chain);
    const summary =
      consumers === 0
        ? `Stack ${stack.name} waits for messages in ${queue}, but no scheduling service consumes from it.`
        : depth > 0
          ? `Stack ${stack.name} waits until the ${depth} messages in ${queue} are handled.`
          : `Stack ${stack.name} has no request in flight: it is between two steps, or its deadline (${stack.deadline ?? 'none'}) will end it.`;
    return { summary, exits: ['anneal service list', `anneal queue messages ${queue}`] };
  }

  async function ofResource(stack: StackDocument, resource: ResourceDocument, chain: Link[]): Promise<End> {
    const name = nameOf(stack);
    chain.push({
      object: `resource ${resource.name} (${resource.type})`,
      state: `${resource.action}_${resource.status}`,
      reason: resource.reason,
      since: sinceOf(resource),
    });
    const { hook } = resource;
    if (hook) {
      const until = hook.deadline === null ? '' : ` until ${hook.deadline}, then ${hook.default ?? 'continue'}`;
      chain.push({ object: `hook ${hook.name}`, state: 'waiting', reason: `waits${until}`, since: hook.since });
      return {
        summary: `${resource.name} is held at hook "${hook.name}" until ${hook.kind === 'hook' ? 'an operator clears' : 'a listener completes'} it.`,
        exits:
          hook.kind === 'hook'
            ? [`anneal hook clear ${name} ${resource.name} ${hook.name}`]
            : [`anneal hook complete ${name} ${resource.name} ${hook.name} continue --token …`],
      };
    }
    if (!resource.request) {
      const failure = resource.failure;
      const letter = failure && linkOfDeath(failure);
      if (letter) chain.push(letter);
      return failure
        ? {
            summary: `${resource.name} has failed: ${failure.message.split('\n', 1)[0] ?? ''}`,
            exits: [
              ...exitsOfDeath(failure),
              `anneal resource show ${name} ${resource.name}`,
              `anneal stack retry ${name}`,
            ],
          }
        : (ofContext(resource) ?? {
            summary: `${resource.name} is idle: it is ${resource.action}_${resource.status}.`,
            exits: [],
          });
    }
    if (isNested(resource)) {
      const child = await collections.stacks.get(resource.id);
      if (child) return ofStack(child, chain);
    }
    return ofRequest(stack, resource, chain);
  }

  /** The command that cancels the root stack, because only its action can be cancelled; none while it is idle. */
  async function cancelAround({ root: id }: StackDocument): Promise<string[]> {
    const root = await collections.stacks.get(id);
    return root?.status === 'IN_PROGRESS' ? cancelOf(root, root.name) : [];
  }

  async function ofRequest(stack: StackDocument, resource: ResourceDocument, chain: Link[]): Promise<End> {
    const wait = await waiting({ stack, resource });
    if (wait) {
      const { object, state, reason, summary, exits } = wait;
      chain.push({ object, state, reason, since: sinceOf(resource) });
      return { summary, exits: [...exits, ...(await cancelAround(stack))] };
    }
    await providers.refresh();
    const queue = isNested(resource) ? shards.queueOf(resource.id) : providers.queueOf(resource.type);
    const verb = resource.request?.action ?? 'work';
    if (queue === undefined) {
      return {
        summary: `The request to ${verb} ${resource.name} waits for a provider: none has announced ${resource.type}.`,
        exits: ['start its provider', ...(await cancelAround(stack))],
      };
    }
    const held = await gate.heldBehind(resource);
    const { depth, consumers } = await measured(queue, chain);
    if (held) {
      const counted = held.here
        ? `: ${held.project} requests of project ${stack.project} are in flight, and ${held.provider} of all projects in ${queue}`
        : '';
      return {
        summary: `The request to ${verb} ${resource.name} waits for its turn${counted}.`,
        exits: [
          `anneal queue messages ${queue}`,
          'raise ANNEAL_SCHEDULING_PROJECT_REQUESTS or ANNEAL_SCHEDULING_PROVIDER_REQUESTS',
          ...(await cancelAround(stack)),
        ],
      };
    }
    const dead = (await deadLetters(queue)).find(({ bytes }) => bytes.includes(resource.id));
    if (dead) {
      chain.push({
        object: `dead letter ${dead.id}`,
        state: `dead after ${dead.attempts} attempts`,
        reason: dead.failure.message,
        since: dead.diedAt,
      });
      return {
        summary: `The request to ${verb} ${resource.name} is a dead letter: ${dead.failure.message}`,
        exits: [`anneal dead-letter show ${dead.id}`, `anneal dead-letter replay ${dead.id}`],
      };
    }
    if (consumers === 0) {
      return {
        summary: `The request to ${verb} ${resource.name} waits in ${queue}: the service that consumes from it is down.`,
        exits: ['anneal service list'],
      };
    }
    const detail = resource.reason === 'state changed' ? '' : `: ${resource.reason}`;
    const behind = depth > 0 ? `; ${depth} requests wait in ${queue}` : '';
    return {
      summary: `The provider has worked on ${resource.name} since ${sinceOf(resource)}${detail}${behind}.`,
      exits: [`anneal resource show ${nameOf(stack)} ${resource.name}`, ...(await cancelAround(stack))],
    };
  }

  async function measured(queue: string, chain: Link[]): Promise<{ depth: number; consumers: number }> {
    try {
      const { depth, inFlight, consumers, oldestAgeMs } = await bus.queues.measure(queue);
      const since = oldestAgeMs === null ? null : new Date(context.now().getTime() - oldestAgeMs).toISOString();
      const state = `${depth} waiting, ${inFlight} in flight`;
      chain.push({ object: `queue ${queue}`, state, reason: `${consumers} consumers`, since });
      return { depth, consumers };
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      chain.push({ object: `queue ${queue}`, state: 'depth unknown', reason, since: null });
      return { depth: 0, consumers: 1 };
    }
  }

  const deadLetters = (queue: string): Promise<DeadLetter[]> =>
    bus.deadLetters.list({ queue, limit: 100 }).catch(() => []);

  return async ({ project, stack: which, resource: name }) => {
    const stack = await reading.find({ project, stack: which });
    const chain: Link[] = [];
    if (name === undefined) return { ...(await ofStack(stack, chain)), chain };
    const resource = representative((await resourcesOf(stack)).filter((one) => one.name === name));
    if (!resource) {
      throw new AnnealError('NotFound', `The Resource (${name}) could not be found in Stack ${stack.name}.`);
    }
    return { ...(await ofResource(stack, resource, chain)), chain };
  };
}

/** The name of a stack in a command; the id for a nested stack. */
const nameOf = ({ depth, name, id }: StackDocument): string => (depth === 0 ? name : id);

const sinceOf = ({ hook, started_at, updated_at }: ResourceDocument): string => hook?.since ?? started_at ?? updated_at;

/** A context whose configs failed on a member between two updates of its stack. */
function ofContext({ type, name, id, attributes }: ResourceDocument): End | undefined {
  const failures = type === 'Anneal::Context' ? attributes['failures'] : undefined;
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

const exitsOfDeath = (failure: Failure): string[] => {
  const letter = letterOf(failure);
  return letter === undefined ? [] : [`anneal dead-letter show ${letter}`];
};

/** The command that cancels. A cancelled update rolls back; any other action can only stop where it is. */
function cancelOf({ action, phase }: StackDocument, name: string): string[] {
  if (action === 'UPDATE') return [`anneal stack cancel ${name}`];
  return action === 'CREATE' || phase === 'paused' ? [`anneal stack cancel ${name} --no-rollback`] : [];
}
