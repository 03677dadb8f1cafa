/** The reboot that a host does for a config, in its document. A host that reboots is silent on purpose. */
import { isDeepStrictEqual } from 'node:util';
import { hostEvent } from '@anneal/contracts/events.ts';
import type { PendingReboot } from '../collections.ts';
import { changeHost, hostEventData, type HostContext } from './host.ts';
import { originOfHost } from './origin.ts';
import { rebootCounts } from './reboot-view.ts';

/** Notes a reboot, with its event, or with undefined that the one of a run is over. A repeat changes nothing. */
export const noteHostReboot = (
  context: Pick<HostContext, 'service' | 'collections' | 'queues'>,
  { host: id, run, reboot }: { host: string; run: string; reboot: PendingReboot | undefined },
): Promise<void> =>
  changeHost(context, id, ({ reboot: before, ...host }) => {
    if (host.status === 'deleting' || isDeepStrictEqual(before, reboot)) return undefined;
    if (!reboot) return before?.run === run ? host : undefined;
    const next = { ...host, reboot };
    const version = host.version + 1;
    const data = {
      ...hostEventData(next, version, originOfHost(next, { kind: 'system', reason: 'a config asked for it' })),
      deployment_id: reboot.deployment_id,
      deployment: reboot.deployment,
      ...rebootCounts(reboot),
    };
    const message = context.service.mint(hostEvent.rebooting, {
      id: `${hostEvent.rebooting.type}:${id}:${run}:${reboot.number}:${reboot.reset_at ?? ''}`,
      subject: id,
      project: host.project,
      data,
    });
    return { ...next, outbox: [...host.outbox, { queue: null, message }], unsent: true };
  });
