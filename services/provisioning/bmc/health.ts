/**
 * The contact with the controller of a node: the stored readings, and what this process has seen since. Pure.
 */
import type { BmcHealth } from '@anneal/contracts/bmc-health.ts';
import type { NodeDocument } from '../documents/node.ts';

/** Failed readings in a row that open the breaker. */
export const strikes = 3;
/** The stored time of the last contact is at most this old, because a write for each reading would load the store. */
export const contactMs = 600_000;

/** Times the interval, and its limit, for a controller that only an operator can make answer. */
const patience = { times: 10, mostMs: 600_000 };

/**
 * The interval of readings of a node, in milliseconds. A controller that refuses the credentials is read rarely: many lock the
 * user or the address after a few wrong logins, and then the right ones too.
 */
export function readingIntervalMs({ poll: { failures, error } }: Pick<NodeDocument, 'poll'>, pollMs: number): number {
  if (failures < strikes || error?.code !== 'BmcMisconfigured') return pollMs;
  return Math.max(pollMs, Math.min(patience.times * pollMs, patience.mostMs));
}

/** Milliseconds since the epoch. */
export interface Contact {
  readonly triedAt: number;
  readonly answeredAt: number | undefined;
}

/** @param pace absent: the next try is not needed. */
export function bmcHealth(
  node: NodeDocument,
  seen: Contact | undefined,
  pace?: { now: number; pollMs: number },
): BmcHealth {
  const { failures, answered_at: answered, tried_at: tried, error = null } = node.poll;
  const { work, last_error: lastError } = node;
  // During work there are no readings, and the work itself repeats what failed.
  const repeats = work && work.attempts > 0 && lastError?.code.startsWith('Bmc') ? work.attempts : 0;
  const contact = latest(seen?.answeredAt, answered);
  return {
    last_contact: contact === undefined ? null : new Date(contact).toISOString(),
    failures: Math.max(failures, repeats),
    last_error: repeats > 0 ? lastError : error,
    breaker: failures >= strikes || node.fault === 'power failure' ? 'open' : 'closed',
    next_try: pace
      ? nextTry(node, latest(seen?.triedAt, tried), { ...pace, pollMs: readingIntervalMs(node, pace.pollMs) })
      : null,
  };
}

function nextTry(
  { work, state, maintenance }: NodeDocument,
  last: number | undefined,
  { now, pollMs }: { now: number; pollMs: number },
): string | null {
  if (work) return work.next_at > now ? new Date(work.next_at).toISOString() : null;
  if (state === 'enroll' || maintenance) return null;
  const due = (last ?? 0) + pollMs;
  // Another replica may read this node. Its next reading is at most an interval away.
  return new Date(due > now ? due : now + pollMs).toISOString();
}

function latest(milliseconds: number | undefined, stored: string | null | undefined): number | undefined {
  const known = [milliseconds, stored ? Date.parse(stored) : undefined].filter((one) => one !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}
