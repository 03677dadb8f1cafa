/**
 * The answers of a host stay readable for a while. A host that sends answers without end must not fill the store, so only
 * the latest are kept. Answers that were not processed yet stay, whatever their number.
 */
import type { ConfigurationCollections, MessageDocument } from '../collections.ts';

/** The most processed answers of one host that stay. */
export const keptAnswers = { messages: 10_000, bytes: 64 * 1024 * 1024 } as const;
/** The store is asked after so many answers, or so many bytes, of a host. */
const step = { messages: 256, bytes: 4 * 1024 * 1024 } as const;
const page = 50;

/**
 * Removes the oldest processed answers above the limit. Call it with the answers that were just added; mostly it does
 * nothing. Safe under redelivery and when several replicas do it at once.
 */
export async function trimAnswers(
  { messages }: Pick<ConfigurationCollections, 'messages'>,
  added: readonly MessageDocument[],
  kept: { readonly messages: number; readonly bytes: number } = keptAnswers,
): Promise<void> {
  const last = added.at(-1);
  if (!last || !added.some(isDue)) return;
  const isOld = ({ sequence, bytes_before = 0, handled }: MessageDocument): boolean =>
    handled === true &&
    (sequence <= last.sequence - kept.messages || bytes_before < (last.bytes_before ?? 0) - kept.bytes);
  for (;;) {
    const oldest = await messages.find({ where: { queue: last.queue }, orderBy: ['sequence'], limit: page });
    const old = oldest.filter(isOld);
    if (old.length === 0) return;
    await messages.bulk(old.map(({ id, version }) => ({ kind: 'remove', id, version })));
  }
}

function isDue({ sequence, bytes_before = 0, body }: MessageDocument): boolean {
  const end = bytes_before + JSON.stringify(body).length;
  return sequence % step.messages === 0 || Math.floor(bytes_before / step.bytes) < Math.floor(end / step.bytes);
}
