/** Questions of this service to others: where a host is, which stack a credential is for, what a signal does. */
import type { CallDefinition } from '@anneal/contracts/define.ts';
import { requestsQueue, type ServiceName } from '@anneal/contracts/queues.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';

const answerMs = 10_000;

/** Sends a question to a service and returns its answer. A repeat of a question has the same id. */
export type ServiceQuestion = <Q, A>(
  service: ServiceName,
  call: CallDefinition<Q, A>,
  question: { readonly project: string; readonly data: Q; readonly id?: string },
) => Promise<A>;

export const createServiceQuestions =
  ({ bus, mint }: Pick<ServiceContext, 'bus' | 'mint'>): ServiceQuestion =>
  (service, call, question) =>
    bus.request({
      queue: requestsQueue(service),
      call,
      message: mint(call, question),
      timeoutMs: answerMs,
    });
