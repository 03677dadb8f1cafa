/**
 * Requests whose type no provider has announced yet. Such a request waits in its resource. A durable timer looks again
 * every second, until a provider is announced and gets the request, or until `routeMs` are over and the request fails.
 */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { StackDocument } from '@anneal/convergence/documents.ts';
import type { Input } from '@anneal/convergence/protocol.ts';
import type { State } from '@anneal/convergence/state.ts';
import type { Timer } from '@anneal/store/timers.ts';
import { firedTimer, stackTimers, timerOfStack } from '../documents/stack-timers.ts';
import type { ProviderDirectory } from '../providers.ts';

export interface StackRoute {
  /** The id of the resource. */
  readonly resource: string;
  readonly fence: number;
}

/** How long to wait before looking again for a missing provider. */
const retryMs = 1000;

/** The timer that looks again. One per resource: a newer request moves it. */
export const routeTimer = (stack: StackDocument, { resource, fence }: StackRoute, now: number): Timer =>
  stackTimers.at(
    timerOfStack({ stack_id: stack.id, traversal: stack.traversal }, { kind: 'route', resource, fence }),
    now + retryMs,
  );

/** The request of such a timer that has fired. Undefined for any other message. */
export function routeOf(message: Envelope): StackRoute | undefined {
  const timer = firedTimer(message);
  return timer?.kind === 'route' ? { resource: timer.resource, fence: timer.fence } : undefined;
}

/**
 * Sends the request again while there is time or a provider. Otherwise returns the response that fails it. A request that
 * a newer one has replaced is neither sent nor failed.
 */
export async function recheck(
  route: StackRoute,
  parameters: {
    message: Envelope;
    state: State;
    now: number;
    routeMs: number;
    providers: Pick<ProviderDirectory, 'queueOf' | 'types'>;
    send: (route: StackRoute) => Promise<void>;
  },
): Promise<Input | undefined> {
  const { message, state, now, routeMs, providers, send } = parameters;
  const resource = state.resources.get(route.resource);
  const request = resource?.request;
  if (!resource || request?.fence !== route.fence) return undefined;
  const since = Date.parse(resource.started_at ?? resource.updated_at);
  if (providers.queueOf(resource.type) !== undefined || now - since < routeMs) {
    await send(route);
    return undefined;
  }
  return {
    kind: 'response',
    id: message.id,
    response: {
      resource_id: resource.id,
      stack_id: resource.stack_id,
      action: request.action,
      fence: request.fence,
      status: 'failed',
      error: {
        code: 'Unavailable',
        message: `no provider has announced type ${resource.type}; announced types: ${providers.types().join(', ') || 'none'}`,
        remedy: 'Start the provider of this type, then update or delete the stack again.',
      },
    },
  };
}
