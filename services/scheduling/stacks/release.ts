/**
 * Sends requests of a stack that the gate held back until now. A request that a newer action has overtaken is not sent
 * any more, nor one whose stack only waits for running requests: it fails, as if its provider had refused it.
 */
import { shardQueue } from '@anneal/contracts/queues.ts';
import { resourceResponse } from '@anneal/contracts/resource.ts';
import type { State } from '@anneal/convergence/state.ts';
import { faultPoint } from '@anneal/runtime/fault.ts';
import { isSuperseded, type Held } from '../limiter/limiter.ts';
import { causeEnvelope, sendRequests, type PerformContext } from './perform.ts';

export async function takeTurns(
  shared: PerformContext,
  parameters: { state: State | undefined; requests: readonly Held[]; shard: number },
): Promise<void> {
  const { state, requests, shard } = parameters;
  const pending = requests.filter(({ resource, fence }) => state?.resources.get(resource)?.request?.fence === fence);
  const due = new Set(state ? pending.filter((request) => !isSuperseded(request, state.stack)) : []);
  if (state) {
    for (const ofCause of Map.groupBy(due, ({ cause }) => cause.id).values()) {
      const [first] = ofCause;
      if (!first) continue;
      await sendRequests(shared, {
        stack: state.stack,
        shard,
        effects: ofCause.map(({ resource, fence }) => ({ kind: 'request', resource, fence })),
        cause: first.cause,
        resourceOf: (id) => state.resources.get(id),
        admitted: true,
      });
    }
    await withdraw(
      shared,
      state,
      pending.filter((request) => !due.has(request)),
    );
  }
  await faultPoint('scheduling.turned');
  await shared.gate.crossOut(
    [...due],
    requests.filter((request) => !due.has(request)),
  );
}

async function withdraw({ context }: PerformContext, state: State, requests: readonly Held[]): Promise<void> {
  const messages = requests.flatMap(({ resource, fence, stack, shard, project, cause }) => {
    const action = state.resources.get(resource)?.request?.action;
    if (!action) return [];
    const message =
      'The request was not sent: it still waited for its turn when the action ended or a newer action replaced it.';
    const response = context.mint(resourceResponse, {
      id: `${resource}:${fence}:withdrawn`,
      subject: resource,
      project,
      cause: causeEnvelope(cause),
      data: {
        resource_id: resource,
        stack_id: stack,
        action,
        fence,
        status: 'failed',
        error: { code: 'Conflict', message },
      },
    });
    return [{ queue: shardQueue(shard), response }];
  });
  const [first] = messages;
  if (first) await context.bus.send({ queue: first.queue, messages: messages.map(({ response }) => response) });
}
