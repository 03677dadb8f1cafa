/** Configs that the bench runs on its hosts. */
import { randomUUID } from 'node:crypto';
import type { HostSite } from './site.ts';

const atOnce = 100;
const limitMs = 600_000;

export async function storeConfig(site: HostSite): Promise<string> {
  const id = randomUUID();
  await site.client.deployments.storeConfig({
    id,
    name: 'step',
    config: '#!/bin/sh\necho done\n',
    options: {},
  });
  return id;
}

/** Queues `steps` configs on each host, one after the other, and waits for all answers. */
export async function queueSteps(site: HostSite, steps: number): Promise<void> {
  const completed = site.completed(steps * site.hosts.length, limitMs);
  for (let step = 0; step < steps; step += 1) {
    const config = await storeConfig(site);
    for (let first = 0; first < site.hosts.length; first += atOnce) {
      const hosts = site.hosts.slice(first, first + atOnce).map(({ id }) => id);
      await site.client.deployments.run({ config, hosts, seconds: 3600 });
    }
  }
  await completed;
}
