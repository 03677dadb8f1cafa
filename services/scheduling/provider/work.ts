/**
 * Stores the work of our own small provider, so that a wait survives a restart and a repeat has no second effect.
 *
 * W1 One document per resource, with the highest fence seen. A lower fence is dropped.
 * W2 A repeat of an answered request gets the same response; a repeat of a waiting request keeps waiting.
 * W3 A response that a repeat could change (a random value) is in the document before it is sent.
 */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { ResourceAction, ResourceRequest, ResourceResponse } from '@anneal/contracts/resource.ts';
import type { StackDocument } from '@anneal/convergence/documents.ts';
import type { SizeLimit } from '@anneal/convergence/resources/size.ts';
import { faultPoint } from '@anneal/runtime/fault.ts';
import type { ServiceContext } from '@anneal/runtime/service.ts';
import type { Collection } from '@anneal/store/port.ts';
import type { Timer, Timers } from '@anneal/store/timers.ts';
import { createAnswering, responseTo, timerOf, type WorkDocument } from './answering.ts';
import { behaviourOf, type ActionRequest, type Behaviour, type Result } from './behaviours.ts';
import { createScaling } from './scaling.ts';
import { createWaitConditions } from './wait-condition.ts';

export interface Worker {
  /** Processes a request of any action. */
  take(action: ResourceAction, message: Envelope<ResourceRequest>): Promise<void>;
  /** Ends the wait of a timer that has fired. */
  wake(timer: Timer): Promise<void>;
}

export function createWorker(parameters: {
  context: ServiceContext;
  work: Collection<WorkDocument>;
  stacks: Collection<StackDocument>;
  timers: () => Timers;
  /** The size limit for the signals of a wait condition handle. */
  limit: SizeLimit;
}): Worker {
  const { context, work, timers } = parameters;
  const { now, secrets } = context;
  const { respond, keep } = createAnswering({ context, work });
  const waitConditions = createWaitConditions({ context, work, timers, limit: parameters.limit });
  const scaling = createScaling({ context, stacks: parameters.stacks, respond });

  const finish = async (
    last: WorkDocument | undefined,
    parts: { action: ResourceAction; message: Envelope; data: ResourceRequest; result: Result },
  ): Promise<void> => {
    const response = responseTo(parts.action, parts.data, parts.result);
    await keep(last, {
      id: parts.data.resource.id,
      fence: parts.data.fence,
      action: parts.action,
      request: null,
      due_at: null,
      response,
    });
    await faultPoint('scheduling.provider.kept');
    await respond(parts.message, response);
  };

  return {
    async take(action, message) {
      const { data } = message;
      if (waitConditions.serves(data.resource.type)) {
        await waitConditions.take(action, message);
        return;
      }
      if (scaling.serves(data.resource.type)) {
        await scaling.take(action, message);
        return;
      }
      const behaviour = behaviourOf(data.resource.type);
      const request: ActionRequest = { ...data, action, secrets };
      if (!behaviour) {
        const failure = { code: 'NotSupported', message: `This provider does not serve ${data.resource.type}.` };
        await respond(message, responseTo(action, data, { ok: false, failure }));
        return;
      }
      const last = await work.get(data.resource.id);
      if (last && last.fence > data.fence) return;
      if (last?.fence === data.fence) {
        const early = last.response ? undefined : earlyResponse(action, request, behaviour);
        const answer = last.response ?? early;
        if (answer) await respond(message, answer);
        if (!last.response && last.due_at !== null) await timers().set([timerOf(last.id, data.fence, last.due_at)]);
        return;
      }
      const wait = behaviour.waitSeconds?.(request) ?? 0;
      if (wait === 0) {
        await finish(last, { action, message, data, result: behaviour.run(request) });
        if (action === 'delete') await work.remove(data.resource.id);
        return;
      }
      // A wait below zero never ends by itself. It has no timer, and ends when a higher fence comes.
      const dueAt = wait < 0 ? null : new Date(now().getTime() + wait * 1000).toISOString();
      const { data: _, ...envelope } = message;
      await keep(last, {
        id: data.resource.id,
        fence: data.fence,
        action,
        request: { message: envelope, data: data as unknown as JsonObject },
        due_at: dueAt,
        response: null,
      });
      await faultPoint('scheduling.provider.waiting');
      const early = earlyResponse(action, request, behaviour);
      if (early) await respond(message, early);
      if (dueAt !== null) await timers().set([timerOf(data.resource.id, data.fence, dueAt)]);
    },
    async wake(timer) {
      const { resource, fence } = timer.data as { resource: string; fence: number };
      const last = await work.get(resource);
      if (!last?.request || last.fence !== fence) return;
      const data = last.request.data as unknown as ResourceRequest;
      if (waitConditions.serves(data.resource.type)) {
        await waitConditions.expire(last);
        return;
      }
      const message = { ...last.request.message, data } as Envelope<ResourceRequest>;
      const request: ActionRequest = { ...data, action: last.action, secrets };
      const result = behaviourOf(data.resource.type)?.run(request);
      if (!result) return;
      // Send before storing. Only the timer repeats this, and it skips work that is stored as answered.
      await respond(message, responseTo(last.action, data, result));
      if (last.action === 'delete') await work.remove(last.id, last.version);
      else {
        await keep(last, {
          id: last.id,
          fence,
          action: last.action,
          request: null,
          due_at: null,
          response: responseTo(last.action, data, result),
        });
      }
    },
  };
}

/** Reports the physical id of an object that is still being created. */
function earlyResponse(
  action: ResourceAction,
  request: ActionRequest,
  { earlyId }: Behaviour,
): ResourceResponse | undefined {
  const physical_id = earlyId?.(request);
  if (physical_id === undefined) return undefined;
  const { resource, stack, fence } = request;
  return { resource_id: resource.id, stack_id: stack.id, action, fence, status: 'in progress', physical_id };
}
