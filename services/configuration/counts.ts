/** Metrics that count hosts and deployments by status. */
import { countEach, serveAllCounts, serviceMetrics } from '@anneal/runtime/observe/service-metrics.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { ConfigurationCollections } from './collections.ts';
import { countedHosts, countHosts } from './hosts/silence.ts';

/**
 * Serves the gauges until the returned function is called. Each count reads one range of an index. Complete deployments,
 * of which there are many, are in no such index and are not counted.
 */
export function serveHostCounts(
  context: ServiceContext,
  { hosts, resources }: Pick<ConfigurationCollections, 'hosts' | 'resources'>,
): () => void {
  return serveAllCounts(context, [
    {
      definition: serviceMetrics.hosts,
      count: () => countEach(countedHosts, (group) => countHosts(hosts, group)),
    },
    {
      definition: serviceMetrics.deployments,
      count: () =>
        countEach(['IN_PROGRESS', 'FAILED'], (status) =>
          resources.count(status === 'FAILED' ? { status, removed_at: null } : { status }),
        ),
    },
  ]);
}
