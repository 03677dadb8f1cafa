/** How the events of a window become fewer messages. Pure. */
import type { Envelope, Mint } from '@anneal/contracts/envelope.ts';
import { subscriptionEvent } from '@anneal/contracts/events.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { derivedId } from '@anneal/runtime/derived-id.ts';

export interface Condensing {
  /** `latest`: of each subject the latest event. `digest`: one message about all of them. */
  readonly mode: 'latest' | 'digest';
  readonly seconds: number;
}

/** One event about several. The same events have the same id, so that a listener recognises a repeat. */
export function digestEvent(
  mint: Mint,
  { id, name, project, version }: { id: string; name: string; project: string; version: number },
  events: readonly Envelope[],
): Envelope {
  const types: Record<string, number> = {};
  for (const { type } of events) types[type] = (types[type] ?? 0) + 1;
  const times = events.map(({ time }) => time).toSorted();
  return mint(subscriptionEvent.digest, {
    id: derivedId(`digest\n${id}\n${events.map((event) => event.id).join('\n')}`),
    data: {
      subscription_id: id,
      subscription_name: name,
      count: events.length,
      since: times[0] ?? '',
      last: times.at(-1) ?? '',
      types,
      events: events as unknown as JsonObject[],
      version,
    },
    subject: id,
    project,
  });
}
