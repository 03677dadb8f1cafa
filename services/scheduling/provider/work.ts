/**
 * The work of our own small provider, as documents, so that a wait survives a restart and a repeat has no second effect.
 *
 * W1 One document per resource, with the highest fence seen. A lower fence is dropped.
 * W2 A repeat of an answered request is answered the same; a repeat of one that waits goes on waiting.
 * W3 An answer that a repeat could change (a random one) is in the document before it is sent.
 */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import {
  resourceResponse,
  type ResourceAction,
  type ResourceRequest,
  type ResourceResponse,
} from '@anneal/contracts/resource.ts';
import { faultPoint } from '@anneal/runtime/fault.ts';
import type { ServiceContext } from '@anneal/runtime/service.ts';
import { DuplicateError, type Collection, type Document } from '@anneal/store/port.ts';
import type { Timer, Timers } from '@anneal/store/timers.ts';
import { behaviourOf, type ActionRequest, type Result } from './behaviours.ts';

export interface WorkDocument extends Document {
  readonly fence: number;
  readonly action: ResourceAction;
  /** What was asked, while it waits; null once answered. */
  readonly request: { readonly message: Omit<Envelope, 'data'>; readonly data: JsonObject } | null;
  readonly due_at: string | null;
  readonly response: ResourceResponse | null;
}

export interface Worker {
  /** Takes a request of any action. */
  take(action: ResourceAction, message: Envelope<ResourceRequest>): Promise<void>;
  /** A wait is over. */
  wake(timer: Timer): Promise<void>;
}

export function createWorker(parameters: {
  context: ServiceContext;
  work: Collection<WorkDocument>;
  timers: () => Timers;
}): Worker {
  const { context, work, timers } = parameters;
  const { bus, mint, now, secrets } = context;

  const respond = async (message: Envelope, response: ResourceResponse): Promise<void> => {
    if (message.replyto === undefined) return;
    await bus.send({
      queue: message.replyto,
      messages: [
        mint(resourceResponse, {
          // A repeat of the answer has the same id.
          id: `${message.id}:${response.status}`,
          subject: response.resource_id,
          cause: message,
          data: response,
        }),
      ],
    });
  };

  const responseTo = (action: ResourceAction, data: ResourceRequest, result: Result): ResourceResponse => ({
    resource_id: data.resource.id,
    stack_id: data.stack.id,
    action,
    fence: data.fence,
    ...(result.ok
      ? {
          status: 'complete',
          ...(result.physicalId !== undefined && { physical_id: result.physicalId }),
          ...(result.attributes && { attributes: result.attributes }),
        }
      : { status: 'failed', error: result.failure, ...(result.replace && { replace: true }) }),
  });

  const keep = async (last: WorkDocument | undefined, draft: Omit<WorkDocument, 'version'>): Promise<void> => {
    if (last) {
      if (await work.replace(draft, last.version)) return;
    } else {
      try {
        await work.insert(draft);
        return;
      } catch (error) {
        if (!(error instanceof DuplicateError)) throw error;
      }
    }
    throw new AnnealError('Unavailable', `The work on resource ${draft.id} has moved on; it is read again.`);
  };

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
      const behaviour = behaviourOf(data.resource.type);
      const request: ActionRequest = { ...data, action, secrets };
      if (!behaviour) {
        const failure = { code: 'NotSupported', message: `This provider does not serve ${data.resource.type}.` };
        await respond(message, responseTo(action, data, { ok: false, failure }));
        return;
      }
      if (action === 'signal' || action === 'check' || !behaviour.keeps) {
        await respond(message, responseTo(action, data, behaviour.run(request)));
        return;
      }
      const last = await work.get(data.resource.id);
      if (last && last.fence > data.fence) return;
      if (last?.fence === data.fence) {
        if (last.response) await respond(message, last.response);
        else if (last.due_at !== null) await timers().set([timerOf(last.id, data.fence, last.due_at)]);
        return;
      }
      const wait = behaviour.waitSeconds?.(request) ?? 0;
      if (wait === 0) {
        await finish(last, { action, message, data, result: behaviour.run(request) });
        if (action === 'delete') await work.remove(data.resource.id);
        return;
      }
      // A wait below zero is for ever: it has no timer, and ends when a higher fence comes.
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
      if (dueAt !== null) await timers().set([timerOf(data.resource.id, data.fence, dueAt)]);
    },
    async wake(timer) {
      const { resource, fence } = timer.data as { resource: string; fence: number };
      const last = await work.get(resource);
      if (!last?.request || last.fence !== fence) return;
      const data = last.request.data as unknown as ResourceRequest;
      const message = { ...last.request.message, data } as Envelope<ResourceRequest>;
      const request: ActionRequest = { ...data, action: last.action, secrets };
      const result = behaviourOf(data.resource.type)?.run(request);
      if (!result) return;
      // Sent before it is kept, for nobody asks again after this: the timer is what repeats it.
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

const timerOf = (resource: string, fence: number, dueAt: string): Timer => ({
  id: `${resource}:${fence}`,
  dueAt: Date.parse(dueAt),
  data: { resource, fence },
});
