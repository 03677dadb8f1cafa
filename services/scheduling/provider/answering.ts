/** The document that all work of our own provider uses, and the answer to a request. */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import {
  resourceResponse,
  type ResourceAction,
  type ResourceRequest,
  type ResourceResponse,
} from '@anneal/contracts/resource.ts';
import type { ServiceContext } from '@anneal/runtime/service.ts';
import { DuplicateError, type Collection, type Document, type Draft } from '@anneal/store/port.ts';
import type { Timer } from '@anneal/store/timers.ts';
import type { Result } from './behaviours.ts';
import type { Signals } from './signals.ts';

export interface WorkDocument extends Document {
  readonly fence: number;
  readonly action: ResourceAction;
  /** The request while the work waits; null once answered. */
  readonly request: { readonly message: Omit<Envelope, 'data'>; readonly data: JsonObject } | null;
  readonly due_at: string | null;
  readonly response: ResourceResponse | null;
  /** Only for a handle: the signals that it received. */
  readonly signals?: Signals;
  /** Handle with transport `NO_SIGNAL`: no signal is expected. */
  readonly silent?: boolean;
  /** Only for a wait condition: the id of its handle. */
  readonly handle?: string;
}

export interface Answering {
  readonly respond: (message: Envelope, response: ResourceResponse) => Promise<void>;
  /** Writes only over the version that was read. @throws AnnealError Unavailable when another writer was first. */
  readonly keep: (last: WorkDocument | undefined, draft: Draft<WorkDocument>) => Promise<WorkDocument>;
}

export function createAnswering({
  context: { bus, mint },
  work,
}: {
  context: ServiceContext;
  work: Collection<WorkDocument>;
}): Answering {
  return {
    async respond(message, response) {
      if (message.replyto === undefined) return;
      await bus.send({
        queue: message.replyto,
        messages: [
          mint(resourceResponse, {
            // Give a repeat of the response the same id.
            id: `${message.id}:${response.status}`,
            subject: response.resource_id,
            cause: message,
            data: response,
          }),
        ],
      });
    },
    async keep(last, draft) {
      if (last) {
        const kept = await work.replace(draft, last.version);
        if (kept) return kept;
      } else {
        try {
          return await work.insert(draft);
        } catch (error) {
          if (!(error instanceof DuplicateError)) throw error;
        }
      }
      throw new AnnealError('Unavailable', `The work on resource ${draft.id} has moved on; it is read again.`);
    },
  };
}

export const responseTo = (action: ResourceAction, data: ResourceRequest, result: Result): ResourceResponse => ({
  resource_id: data.resource.id,
  stack_id: data.stack.id,
  action,
  fence: data.fence,
  ...(result.ok
    ? {
        status: 'complete',
        ...(result.physicalId !== undefined && { physical_id: result.physicalId }),
        ...(result.attributes && { attributes: result.attributes }),
        ...(result.message !== undefined && { message: result.message }),
      }
    : { status: 'failed', error: result.failure, ...(result.replace && { replace: true }) }),
});

export const timerOf = (resource: string, fence: number, dueAt: string): Timer => ({
  id: `${resource}:${fence}`,
  dueAt: Date.parse(dueAt),
  data: { resource, fence },
});
