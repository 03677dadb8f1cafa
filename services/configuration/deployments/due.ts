/** Actions of the durable timers of this service. */
import { isObject, type Json } from '@anneal/contracts/json.ts';
import type { Timer } from '@anneal/store/timers.ts';
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

const textOf = (data: Json, key: string): string => {
  const value = isObject(data) ? data[key] : undefined;
  return typeof value === 'string' ? value : '';
};

export type DueContext = HostMessageContext & StoredOutputContext & Pick<NewRunContext, 'runKeepMs'>;

export async function fire(context: DueContext, timer: Timer): Promise<void> {
  const [kind] = timer.id.split(':');
  switch (kind) {
    case 'runs':
      return lookAtRuns(context, { host: textOf(timer.data, 'host'), process: textOf(timer.data, 'process') });
    case 'deadline':
      return lookAtRun(context, textOf(timer.data, 'run'));
    case 'silence':
      // Set by an older version. The search for silent hosts replaces it.
      return;
    case 'revoke':
      return endGrant(context, { host: textOf(timer.data, 'host'), issued: textOf(timer.data, 'issued') });
    case 'claim':
      return checkClaim(context, textOf(timer.data, 'host'));
    case sweepTimer:
      return sweep(context);
    default:
      context.service.log.error(
        { timer: timer.id },
        'timer of an unknown kind dropped; a newer version may have set it',
      );
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
