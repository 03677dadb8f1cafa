/** Our own small provider: values and waits, wait conditions, scaling policies. Its promises: `libs/provider`. */
import { randomInt } from 'node:crypto';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { ResourceAction, ResourceRequest } from '@anneal/contracts/resource.ts';
import type { StackDocument } from '@anneal/convergence/documents.ts';
import type { Received } from '@anneal/provider/document.ts';
import { Provider, type Decision } from '@anneal/provider/provide.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { Collection } from '@anneal/store/port.ts';
import type { Timers } from '@anneal/store/timers.ts';
import { behaviourOf } from '../at-once/behaviours.ts';
import { waitTimers } from '../documents/wait-timers.ts';
import type { WorkDocument } from '../documents/work.ts';
import type { WorkflowActions } from '../workflows/actions/actions.ts';
import type { WorkflowResources } from '../workflows/resources.ts';
import { createScaling } from './scaling/scaling.ts';
import { Schedules } from './scaling/schedule.ts';
import { WaitConditions } from './wait-condition.ts';
import type { SizeLimit } from '@anneal/convergence/size-limits.ts';

export interface Worker {
  /** Processes a request of any action. */
  take(action: ResourceAction, message: Envelope<ResourceRequest>): Promise<void>;
  /** Withdraws a request: `Provider.withdraw`. */
  withdraw: Provider<WorkDocument>['withdraw'];
  readonly schedules: Schedules;
  /** Continues the work on a resource whose timer has fired. */
  wake(resource: string): Promise<void>;
}

/** The engine's own deadline passes first, so that a stack that is too late reports its own reason. */
const lateMs = 5_000;

/** A hundred years. A wait that ends later has no date that every store and client can read. */
const mostWaitSeconds = 100 * 366 * 86_400;

export function createWorker(parameters: {
  context: ServiceContext;
  work: Collection<WorkDocument>;
  stacks: Collection<StackDocument>;
  timers: () => Timers;
  /** The size limit for the signals of a wait condition handle. */
  limit: SizeLimit;
  readonly actions: WorkflowActions;
  readonly workflows: WorkflowResources;
}): Worker {
  const { actions, context, work, workflows, timers, limit } = parameters;
  const { now, secrets } = context;
  const draw = (below: number): number => randomInt(below);
  const schedules = new Schedules(context, { timers, stacks: parameters.stacks });
  const scaling = createScaling({ context, stacks: parameters.stacks, schedules });
  const waitConditions = new WaitConditions({ context, work, limit, wake: (id) => provider.wake(id) });

  const decide = ({ action, message: { data } }: Received<WorkDocument>): Decision<WorkDocument> => {
    if (actions.serves(data.resource.type)) return actions.decide(action);
    if (workflows.serves(data.resource.type)) return { kind: 'waiting', ms: 0 };
    const behaviour = behaviourOf(data.resource.type);
    if (!behaviour) {
      const message = `This provider does not serve ${data.resource.type}.`;
      return { kind: 'failed', error: { code: 'NotSupported', message }, change: { due_at: null } };
    }
    const request = { ...data, action, secrets, draw };
    const wait = Math.min(behaviour.waitSeconds?.(request) ?? 0, mostWaitSeconds);
    if (wait === 0) return { ...behaviour.run(request), change: { due_at: null } };
    // A wait below zero never ends by itself.
    const due_at = wait < 0 ? null : new Date(now().getTime() + wait * 1000).toISOString();
    const early = behaviour.earlyId?.(request);
    return {
      kind: 'waiting',
      ms: wait < 0 ? null : wait * 1000,
      ...(early !== undefined && { physical_id: early }),
      change: { due_at },
    };
  };

  const provider: Provider<WorkDocument> = new Provider({
    context,
    collection: work,
    timers,
    timerOf: ({ id, fence }) => waitTimers.stored({ kind: 'work', resource: id, fence }),
    decide: async (received) =>
      waitConditions.serves(received.message.data.resource.type) ? waitConditions.decide(received) : decide(received),
    work: async (document, request) => {
      const { data, project = '' } = request;
      if (waitConditions.serves(data.resource.type)) return waitConditions.work(document, data);
      if (actions.serves(data.resource.type)) return actions.work({ ...data, project });
      if (workflows.serves(data.resource.type)) return workflows.work(document.action, request);
      const left = document.due_at === null ? null : Date.parse(document.due_at) - now().getTime();
      if (left === null || left > 0) return { kind: 'waiting', ms: left };
      const result = behaviourOf(data.resource.type)?.run({ ...data, action: document.action, secrets, draw });
      return result ?? { kind: 'waiting', ms: null };
    },
    forgets: ({ action }) => action === 'delete',
    lateMs,
  });

  return {
    async take(action, message) {
      const { type } = message.data.resource;
      if (scaling.serves(type)) await scaling.take(action, message);
      else if (action === 'signal' && workflows.serves(type)) await workflows.signal(message);
      else if (action === 'signal' && waitConditions.serves(type)) await waitConditions.signal(message);
      else await provider.take(action, message);
    },
    withdraw: (message, delivery) => provider.withdraw(message, delivery),
    schedules,
    wake: (resource) => provider.wake(resource),
  };
}
