/** The types of events that the log stores. */
import { bmcReported, eventKept, queueFilled, subscriptionEvent } from '@anneal/contracts/events.ts';
import { definitionsByFile } from '@anneal/contracts/registry.ts';

/** Events that are not stored. They only report that there is something to read, or go to one listener. */
const fleeting = new Set<string>([
  queueFilled.type,
  eventKept.type,
  bmcReported.type,
  subscriptionEvent.tested.type,
  subscriptionEvent.digest.type,
]);

/** All types of events, without those that only wake clients. */
export const storedTypes = (): string[] =>
  (definitionsByFile['events'] ?? []).map(({ type }) => type).filter((type) => !fleeting.has(type));
