/** The provider of the types of this service. Its promises: P1 to P6 of `libs/provider/provide.ts`. */
import type { MessageRoute } from '@anneal/bus/consume/route.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import type { ResourceAction } from '@anneal/contracts/resource.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { reply } from '@anneal/provider/accept.ts';
import { responseTo, type Request, type Result } from '@anneal/provider/document.ts';
import { Provider, type WorkingDocument } from '@anneal/provider/provide.ts';
import { announceTypes, providerRoutes } from '@anneal/provider/routes.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { Timers } from '@anneal/store/timers.ts';

export interface ResourceKind {
  serves(type: string): boolean;
  /** Does what a request asks for. A repeat has no second effect. An AnnealError that a retry cannot help fails it. */
  provide(action: ResourceAction, request: Request): Promise<Result>;
}

export interface Resources {
  readonly routes: MessageRoute[];
  /** Continues a request whose timer fired. */
  wake(id: string): Promise<void>;
  announce(types: readonly ResourceType[]): Promise<void>;
  stop(): Promise<void>;
}

/** An error that a retry cannot help is the result; after another one the bus delivers the signal again. */
async function resultOf(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AnnealError) || error.kind === 'retry') throw error;
    return { kind: 'failed', error };
  }
}

export async function openResources(
  context: ServiceContext,
  timers: () => Timers,
  kinds: readonly ResourceKind[],
): Promise<Resources> {
  const collection = await context.store.collection<WorkingDocument>({ name: 'notification_resources', indexes: [] });
  const kindOf = ({ data }: Request): ResourceKind => {
    const found = kinds.find((each) => each.serves(data.resource.type));
    if (found) return found;
    throw new AnnealError('NotSupported', `This provider does not serve ${data.resource.type}.`);
  };
  const provider = new Provider<WorkingDocument>({
    context,
    collection,
    timers,
    timerOf: ({ id }) => ({ id: `resource:${id}`, data: null }),
    decide: async () => ({ kind: 'waiting', ms: 0 }),
    work: ({ action }, request) => kindOf(request).provide(action, request),
    forgets: ({ action }) => action === 'delete',
  });
  return {
    routes: providerRoutes({
      take: (action, message) => provider.take(action, message),
      // A signal is no request of the engine: it does not replace the one in the document.
      signal: async (message) => {
        const result = await resultOf(() => kindOf(message).provide('signal', message));
        await reply(context, message, { response: responseTo('signal', message.data, result) });
      },
    }),
    wake: (id) => provider.wake(id),
    announce: (types) =>
      announceTypes(context, {
        provider: 'anneal.notification',
        queue: requestsQueue('notification'),
        types: [...types],
      }),
    stop: () => provider.stop(),
  };
}
