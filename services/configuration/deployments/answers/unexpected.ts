/**
 * Answers that change nothing, because no run waits for them. They are counted at their host and reported as events.
 *
 * U1 A repeat of an accepted answer is not reported, because agents resend until the server confirms.
 * U2 A flood of them costs one document of a bounded size, and a bounded number of events a minute. Alarms have a
 *    separate share, so that no flood hides them.
 */
import { stoppedReason, type HostResponse } from '@anneal/contracts/calls/host-messages.ts';
import { type UnexpectedAnswer } from '@anneal/contracts/calls/hosts.ts';
import { hostEvent } from '@anneal/contracts/events.ts';
import type { HostDocument } from '../../collections.ts';
import type { Outgoing } from '@anneal/runtime/work/outbox.ts';
import { unnamed, type Unexpected } from '../decisions/unexpected-answer.ts';
import { hostQueue } from '../../hosts/queues.ts';
import { changeHost } from '../../hosts/host.ts';
import { actorOfHost, originOfHost } from '../../hosts/origin.ts';
import type { RunContext } from '../runs/run-context.ts';

/** The most entries that are kept, separately for alarms and for other answers. */
const mostKept = 10;
const mostEventsAMinute = 10;
const longestId = 100;

/** Explains why no run of this host waits for an answer, or a progress report, that names no latest run. */
export async function judgeUnknown(
  context: RunContext,
  host: HostDocument,
  { id, response }: { id: string; response?: HostResponse },
): Promise<Unexpected | undefined> {
  const message = await context.collections.messages.get(id);
  if (!message) return { kind: 'unknown', reason: 'there is no run with this id', ...unnamed };
  if (message.queue !== hostQueue(host, 'requests').id) {
    return { kind: 'foreign', reason: 'the request is in the queue of another host', ...unnamed };
  }
  const { deployment_id } = message.body as { deployment_id?: unknown };
  const current =
    typeof deployment_id === 'string' ? await context.collections.resources.get(deployment_id) : undefined;
  // A message that a user posted has no deployment, so its answer is not unexpected. A stopped script is what the host
  // was asked for.
  if (!current?.deployment || !response || response.error === stoppedReason) return undefined;
  return {
    kind: 'replaced',
    reason: 'a newer run of the deployment replaced this one',
    deployment: current.deployment.name,
    deployment_id: current.id,
  };
}

export async function noteUnexpected(
  context: RunContext,
  host: HostDocument,
  { id, found }: { id: string; found: Unexpected },
): Promise<void> {
  const { service } = context;
  const at = service.now().toISOString();
  const alarm = found.kind === 'foreign';
  const entry: UnexpectedAnswer = {
    ...found,
    alarm,
    request_id: id.slice(0, longestId),
    first_at: at,
    last_at: at,
    count: 1,
  };
  let reports = false;
  await changeHost(context, host.id, (current) => {
    const { kept, isNew } = counted(current.unexpected ?? [], entry);
    reports = isNew && eventsWithin(current.unexpected ?? [], entry) < mostEventsAMinute;
    const event = unexpectedEvent(context, current, entry);
    return {
      ...current,
      unexpected: kept,
      unexpected_total: (current.unexpected_total ?? 0) + 1,
      ...(reports && { outbox: [...current.outbox, event], unsent: true }),
    };
  });
  if (alarm && reports) {
    service.log.warn(
      { host: host.id, name: host.name, request: entry.request_id },
      'host answered a request of another host; nothing changed, check the host and renew its token',
    );
  }
}

function unexpectedEvent({ service }: RunContext, host: HostDocument, entry: UnexpectedAnswer): Outgoing {
  const version = host.version + 1;
  return {
    queue: null,
    message: service.mint(hostEvent.unexpected, {
      id: `host.answer.unexpected:${host.id}:${version}`,
      subject: host.id,
      project: host.project,
      data: {
        origin: originOfHost(host, { actor: actorOfHost(host), reason: entry.reason }),
        host_id: host.id,
        name: host.name,
        kind: entry.kind,
        alarm: entry.alarm,
        request_id: entry.request_id,
        deployment: entry.deployment,
        deployment_id: entry.deployment_id,
        reason: entry.reason,
        version,
      },
    }),
  };
}

/** U2: keeps the newest of each kind, and counts a repeat in its existing entry. */
function counted(
  known: readonly UnexpectedAnswer[],
  entry: UnexpectedAnswer,
): { kept: UnexpectedAnswer[]; isNew: boolean } {
  const isSame = (other: UnexpectedAnswer): boolean =>
    other.kind === entry.kind && other.request_id === entry.request_id;
  const before = known.find(isSame);
  const next = before ? { ...before, last_at: entry.last_at, count: before.count + 1, reason: entry.reason } : entry;
  const all = [...known.filter((other) => !isSame(other)), next];
  const newest = (alarm: boolean): UnexpectedAnswer[] => all.filter((each) => each.alarm === alarm).slice(-mostKept);
  return { kept: [...newest(true), ...newest(false)], isNew: before === undefined };
}

function eventsWithin(known: readonly UnexpectedAnswer[], { alarm, first_at }: UnexpectedAnswer): number {
  const since = Date.parse(first_at) - 60_000;
  return known.filter((each) => each.alarm === alarm && Date.parse(each.first_at) > since).length;
}
