/** Asking a service, from within a request. Everything that the gateway knows of stacks, queues and nodes comes this way. */
import type { Bus } from '@anneal/bus/port.ts';
import type { CallDefinition } from '@anneal/contracts/define.ts';
import type { Mint } from '@anneal/contracts/envelope.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { requestsQueue, type ServiceName } from '@anneal/contracts/queues.ts';

export interface AskParameters<Q> {
  data: Q;
  project?: string;
  timeoutMs?: number;
  signal?: AbortSignal;
}

export type Ask = <Q, A>(service: ServiceName, call: CallDefinition<Q, A>, parameters: AskParameters<Q>) => Promise<A>;

export function createAsk({ bus, mint, timeoutMs }: { bus: Bus; mint: Mint; timeoutMs: number }): Ask {
  return async (service, call, { data, project, signal, timeoutMs: own }) => {
    try {
      return await bus.request({
        queue: requestsQueue(service),
        call,
        message: mint(call, { data, project }),
        timeoutMs: own ?? timeoutMs,
        ...(signal && { signal }),
      });
    } catch (error) {
      // Whoever asked over HTTP cannot look at our queues; what they can do is wait and ask again.
      if (error instanceof AnnealError && error.code === 'TimedOut') {
        throw new AnnealError(
          'Unavailable',
          `The ${service} service did not answer ${call.type} within ${own ?? timeoutMs} ms. It may be starting or busy; ask again in a few seconds.`,
          { cause: error },
        );
      }
      throw error;
    }
  };
}
