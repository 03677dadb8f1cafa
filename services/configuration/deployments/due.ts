/** Actions of the durable timers of this service. */
import { isObject } from '@anneal/contracts/json.ts';
import { readTimer } from '@anneal/runtime/time/timer-codec.ts';
import type { Timer } from '@anneal/store/timers.ts';
import { z } from 'zod';
import { endGrant } from '../hosts/grant.ts';
import { sweepDeparted } from '../hosts/host.ts';
import type { HostMessageContext } from './runs/run-context.ts';
import { firstMessage, isClaimed, sweepMessages } from '../queues/queue.ts';
import { claimTimer } from './requests/hand-out.ts';
import { hostQueue } from '../hosts/queues.ts';
import { sweepOutputs, type StoredOutputContext } from '../contents/stored-output.ts';
import { lookAtRun, lookAtRuns } from './runs/look-at-runs.ts';
import { forgetRuns } from './stored/forget.ts';
import type { NewRunContext } from './requests/new-run.ts';

const sweepEveryMs = 30_000;
/** How long a removed resource is remembered, so that a late request is recognised as late. */
const rememberRemovedMs = 24 * 3_600_000;
export const sweepTimer = 'sweep';

/** The kind of a timer is the first part of its id. Its data has the rest. */
const timerSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('runs'), host: z.string(), process: z.string() }),
  /** The limit of one run, which an older version set. */
  z.object({ kind: z.literal('deadline'), run: z.string() }),
  /** An older version set it. The search for silent hosts replaces it. */
  z.object({ kind: z.literal('silence') }),
  z.object({ kind: z.literal('revoke'), host: z.string(), issued: z.string() }),
  z.object({ kind: z.literal('claim'), host: z.string() }),
  z.object({ kind: z.literal(sweepTimer) }),
]);

export type DueContext = HostMessageContext & StoredOutputContext & Pick<NewRunContext, 'runKeepMs'>;

/** @throws AnnealError Defect for a timer of an unknown kind */
export async function fire(context: DueContext, { id, data }: Timer): Promise<void> {
  const timer = readTimer(timerSchema, id, { ...(isObject(data) && data), kind: id.split(':')[0] });
  switch (timer.kind) {
    case 'runs':
      return lookAtRuns(context, timer);
    case 'deadline':
      return lookAtRun(context, timer.run);
    case 'silence':
      return;
    case 'revoke':
      return endGrant(context, timer);
    case 'claim':
      return checkClaim(context, timer.host);
    case 'sweep':
      return sweep(context);
  }
}

/** Moves the timer to the end of the current claim. Wakes the waiting clients when the claim has expired. */
async function checkClaim(context: HostMessageContext, hostId: string): Promise<void> {
  const host = await context.collections.hosts.get(hostId);
  const queue = host && hostQueue(host, 'requests');
  const first = queue && (await firstMessage(context.queues, queue));
  if (!queue || !first || first.claim_id === null) return;
  if (isClaimed(first, context.queues.now())) {
    const dueAt = first.claim_expires_at;
    await context.timers().set([{ id: claimTimer(hostId), dueAt, data: { host: hostId } }]);
    return;
  }
  context.service.log.info({ host: hostId, message: first.id }, 'claim expired; its request is offered again');
  await context.queues.wake(queue);
}

async function sweep(context: DueContext): Promise<void> {
  await sweepMessages(context.queues);
  await sweepOutputs(context, {
    now: context.queues.now(),
    isLatest: async ({ id, deployment }) => {
      const document = await context.collections.resources.get(deployment);
      return document?.run_id === id && document.removed_at === null;
    },
  });
  const { resources } = context.collections;
  const before = context.queues.now() - rememberRemovedMs;
  await forgetRuns({ ...context, now: context.queues.now() });
  const old = await resources.find({ where: { removed_at: { gt: 0, lt: before } }, limit: 1000 });
  await resources.bulk(old.map(({ id, version }) => ({ kind: 'remove', id, version })));
  await sweepDeparted(context.collections, context.queues.now());
  await context.collections.sweepContents(context.queues.now());
  await armSweep(context);
}

export async function armSweep(context: HostMessageContext): Promise<void> {
  await context.timers().set([{ id: sweepTimer, dueAt: context.queues.now() + sweepEveryMs, data: null }]);
}
