/** The cost of hosts that run configs or wait, and of nodes that are polled. */
import { queueSteps } from '../hosts/configs.ts';
import type { HostSite } from '../hosts/site.ts';
import { enrolAll } from '../nodes.ts';
import { openRoom } from '../nodes/room.ts';
import { costOf, costOfOne, spentIdle, type Cost } from './meter.ts';

/** V8 compiles the code during the first ones, which would count as their cost. */
const warmUps = 3;

export interface HostCosts {
  readonly connected: Cost;
  /** A wait that ends without a request, and the next one begins. */
  readonly poll: Cost;
  readonly config: Cost;
}

/**
 * `site` has hosts that are not connected yet. They stay connected. Each wait of a host lasts the given time: the waits of
 * all hosts must be so few that they let the server become idle, and so many that they stand out.
 */
export async function hostCosts(site: HostSite, seconds: number): Promise<HostCosts> {
  const { length: n } = site.hosts;
  const without = await spentIdle(site, seconds);
  const connected = await costOf(site, n, () => site.connectHosts({ waitSeconds: seconds }));
  const idle = await spentIdle(site, seconds);
  for (let step = 0; step < warmUps; step += 1) await queueSteps(site, 1);
  const config = await costOf(site, n, () => queueSteps(site, 1));
  return {
    connected,
    poll: costOfOne({ less: without, more: idle, count: n }),
    config,
  };
}

export interface NodeCosts {
  readonly enrolled: Cost;
  readonly poll: Cost;
}

export async function nodeCosts(n: number, { pollSeconds, polls }: { pollSeconds: number; polls: number }) {
  const room = await openRoom({ machines: n, pollSeconds });
  try {
    const seconds = pollSeconds * polls;
    const without = await spentIdle(room, seconds);
    const enrolled = await costOf(room, n, () => enrolAll({ room, n }));
    const idle = await spentIdle(room, seconds);
    return {
      enrolled,
      poll: costOfOne({ less: without, more: idle, count: n * polls }),
    } satisfies NodeCosts;
  } finally {
    await room.close();
  }
}
