/** The reboot of a host as readers see it. Pure. */
import type { HostView } from '@anneal/contracts/calls/hosts.ts';
import { mostReboots } from '@anneal/contracts/reboot-option.ts';
import type { HostDocument, PendingReboot } from '../collections.ts';

/** The parts of a reboot that events and views share. */
export const rebootCounts = ({ number, until, reset_at }: PendingReboot) => ({
  number,
  most: mostReboots,
  until,
  ...(reset_at !== undefined && { reset_at }),
});

/** The reboot of a host as readers see it. */
export const viewReboot = ({ reboot }: HostDocument): Pick<HostView, 'reboot'> =>
  reboot
    ? {
        reboot: {
          deployment_id: reboot.deployment_id,
          deployment: reboot.deployment,
          since: reboot.since,
          ...rebootCounts(reboot),
        },
      }
    : {};

/** The condition of a host that reboots. */
export const rebootingText = ({ deployment, number, until }: PendingReboot): string =>
  `It reboots for config ${deployment} (${number} of ${mostReboots}), until ${until} at the latest.`;
