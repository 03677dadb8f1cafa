/** From messages of a shard's queue to inputs of the core. */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { resourceResponse, type ResourceResponse } from '@anneal/contracts/resource.ts';
import { stackCreate, stackDelete, stackSignal, stackUpdate, timerFired } from '@anneal/contracts/scheduling.ts';
import type { Input } from '@anneal/convergence/protocol.ts';
import type { State, Target } from '@anneal/convergence/state.ts';
import type { z } from 'zod';
import type { Plans } from './plans.ts';

export type Arrival = { readonly kind: 'message'; readonly message: Envelope } | { readonly kind: 'recover' };

type Update = z.infer<typeof stackUpdate.data>;
type Signal = z.infer<typeof stackSignal.data>;
type Fired = z.infer<typeof timerFired.data>;

/** Which stack a message is for; undefined for what a shard does not take. */
export function stackIdOf(message: Envelope): string | undefined {
  const data = message.data as { id?: string; stack?: string; stack_id?: string };
  switch (message.type) {
    case stackCreate.type:
    case stackUpdate.type:
    case stackDelete.type:
      return data.id;
    case stackSignal.type:
      return data.stack;
    case resourceResponse.type:
    case timerFired.type:
      return data.stack_id;
    default:
      return undefined;
  }
}

/** Look again for the provider of a resource. */
export interface RouteInput {
  readonly kind: 'route';
  readonly resource: string;
  readonly fence: number;
}

export async function toInput(parameters: {
  message: Envelope;
  state: State;
  plans: Plans;
  now: number;
  routeMs: number;
  types: readonly string[];
}): Promise<Input | RouteInput | undefined> {
  const { message, state, plans } = parameters;
  const { id } = message;
  switch (message.type) {
    case stackCreate.type:
      return { kind: 'create', id, plan: state.plan };
    case stackUpdate.type: {
      const data = message.data as Update;
      return {
        kind: 'update',
        id,
        plan: await plans.get(data.plan),
        target: targetOf(data),
        timeout_minutes: data.timeout_minutes,
        on_failure: data.on_failure,
        tags: data.tags,
        observe: data.converge,
      };
    }
    case stackDelete.type:
      return { kind: 'delete', id };
    case stackSignal.type: {
      const data = message.data as Signal;
      return { kind: 'signal', id, resource: data.resource, signal: data.signal };
    }
    case resourceResponse.type:
      return { kind: 'response', id, response: message.data as ResourceResponse };
    default: {
      const data = message.data as Fired;
      const [what, resource, fence] = data.timer.split(':');
      if (what !== 'route') return { kind: 'timer', id, timer: data.timer, traversal: data.traversal };
      return routeOrFail({ ...parameters, resource: resource ?? '', fence: Number(fence) });
    }
  }
}

function routeOrFail(parameters: {
  message: Envelope;
  state: State;
  now: number;
  routeMs: number;
  types: readonly string[];
  resource: string;
  fence: number;
}): Input | RouteInput | undefined {
  const { state, types, routeMs } = parameters;
  const resource = state.resources.get(parameters.resource);
  const request = resource?.request;
  if (!resource || request?.fence !== parameters.fence) return undefined;
  const since = Date.parse(resource.started_at ?? resource.updated_at);
  if (types.includes(resource.type) || parameters.now - since < routeMs) {
    return { kind: 'route', resource: resource.id, fence: parameters.fence };
  }
  return {
    kind: 'response',
    id: parameters.message.id,
    response: {
      resource_id: resource.id,
      stack_id: resource.stack_id,
      action: request.action,
      fence: request.fence,
      status: 'failed',
      error: {
        code: 'Unavailable',
        message: `no provider has announced the type ${resource.type}; announced are ${types.join(', ') || 'none'}`,
        remedy: 'Start the provider of this type, then update or delete the stack again.',
      },
    },
  };
}

export function targetOf(data: Target): Target {
  const { plan, template, environment, files, description } = data;
  return { plan, template, environment, files, description };
}
