/** Common code of our providers: takes requests for resources, and announces the resource types at each start. */
import { on, type MessageRoute } from '@anneal/bus/consume/route.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import {
  providerAnnounced,
  resourceCancel,
  resourceCheck,
  resourceCreate,
  resourceDelete,
  resourceResume,
  resourceSignal,
  type resourceSignalSchema,
  resourceSuspend,
  resourceUpdate,
  resourceWithdraw,
  type ProviderAnnouncement,
  type ResourceRequest,
} from '@anneal/contracts/resource.ts';
import type { z } from 'zod';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';

const asked = {
  create: resourceCreate,
  update: resourceUpdate,
  delete: resourceDelete,
  check: resourceCheck,
  suspend: resourceSuspend,
  resume: resourceResume,
} as const;
type AskedAction = keyof typeof asked;

/**
 * The routes of all actions. `take` gets requests, `signal` gets signals, `cancel` gets cancellations, which the engine
 * sends for types that announce `cancels`, and `withdraw` withdrawals, for those that announce `withdraws`; the bus
 * delivers again what they throw.
 */
export const providerRoutes = ({
  take,
  signal,
  cancel,
  withdraw,
}: {
  take: (action: AskedAction, message: Envelope<ResourceRequest>) => Promise<void>;
  signal: (message: Envelope<z.infer<typeof resourceSignalSchema>>) => Promise<void>;
  cancel?: (message: Envelope<ResourceRequest>) => Promise<void>;
  withdraw?: (message: Envelope<ResourceRequest>, delivery: { readonly last: boolean }) => Promise<void>;
}): MessageRoute[] => [
  ...Object.entries(asked).map(([action, definition]) =>
    on<ResourceRequest>(definition, (message) => take(action as AskedAction, message)),
  ),
  on(resourceSignal, signal),
  ...(cancel ? [on<ResourceRequest>(resourceCancel, cancel)] : []),
  ...(withdraw ? [on<ResourceRequest>(resourceWithdraw, withdraw)] : []),
];

/**
 * Announces the types to templating and scheduling, durable on return. A repeat replaces the earlier announcement.
 * @throws AnnealError Unavailable when the broker does not accept it
 */
export async function announceTypes(
  { bus, mint }: Pick<ServiceContext, 'bus' | 'mint'>,
  announcement: ProviderAnnouncement,
): Promise<void> {
  const message = mint(providerAnnounced, { data: announcement });
  for (const service of ['templating', 'scheduling'] as const) {
    await bus.send({ queue: requestsQueue(service), messages: [message] });
  }
}
