/** Questions to another service, as a sink: a post to a queue, a signal to a resource, the run of a config. */
import type { Bus } from '@anneal/bus/port.ts';
import type { CallDefinition } from '@anneal/contracts/define.ts';
import type { Mint, MintParameters } from '@anneal/contracts/envelope.ts';
import { requestsQueue, type ServiceName } from '@anneal/contracts/queues.ts';
import { accepted, refusedOrAway, type EventSink, type SinkRequest } from './sink.ts';

/** How a sink asks. */
export interface AskContext {
  readonly bus: Pick<Bus, 'request'>;
  readonly mint: Mint;
  readonly project: string;
  readonly timeoutMs: number;
}

/** Asks a question, unless the sink is closed. A question with an `id` is handled once. */
export type Asking = <Q, A>(
  service: ServiceName,
  call: CallDefinition<Q, A>,
  question: Pick<MintParameters<Q>, 'data' | 'id' | 'cause'>,
) => Promise<A>;

/** `deliver` asks what the request needs. It rejects when a service refuses, or does not answer. */
export function openCallSink(
  { bus, mint, project, timeoutMs }: AskContext,
  deliver: (request: SinkRequest, ask: Asking) => Promise<unknown>,
): EventSink {
  const closing = new AbortController();
  const ask: Asking = (service, call, question) =>
    bus.request({
      queue: requestsQueue(service),
      call,
      message: mint(call, { ...question, project }),
      timeoutMs,
      signal: closing.signal,
    });
  return {
    async send(request) {
      try {
        await deliver(request, ask);
        return accepted;
      } catch (error) {
        return refusedOrAway(error);
      }
    },
    close() {
      closing.abort(new Error('the service stops'));
      return Promise.resolve();
    },
  };
}
