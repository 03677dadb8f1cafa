/** One row per replica of each service, for lists of services in the terminal and in the browser. Pure. */
import { byNaturalOrder } from '@anneal/contracts/natural-order.ts';
import type { ReplicaRow, ServiceRow } from './representation.ts';

/** A service with one of its replicas, or with none when none has shown a sign of life. */
export interface ServiceReplica {
  readonly service: ServiceRow;
  readonly replica: ReplicaRow | undefined;
  /** The state of the replica; that of the service when it has none. */
  readonly status: string;
  /** Whether it is the first row of its service, which also shows the numbers of the service. */
  readonly isFirst: boolean;
}

/** The rows of a list of services, in its order. */
export const serviceReplicas = (services: readonly ServiceRow[]): ServiceReplica[] =>
  services.flatMap((service): ServiceReplica[] =>
    service.replicas.length === 0
      ? [{ service, replica: undefined, status: service.status, isFirst: true }]
      : service.replicas.map((replica, at) => ({ service, replica, status: replica.status, isFirst: at === 0 })),
  );

/** The remarks of all services together: on several versions that run, and on replicas that do not report. */
export function remarksOn(services: readonly ServiceRow[]): string[] {
  const live = services.flatMap(({ replicas }) => replicas.filter(({ status }) => status !== 'silent'));
  const versions = [...new Set(live.map(({ version }) => version))].toSorted(byNaturalOrder);
  const unreported = services.filter((service) => service.unreported > 0).map(({ name }) => name);
  return [
    ...(versions.length > 1
      ? [`Versions ${versions.join(' and ')} run side by side. Finish the upgrade: replace the older replicas.`]
      : []),
    ...(unreported.length > 0
      ? [
          `Processes that send no report, as an earlier version does, take requests of ${unreported.join(', ')}. Finish the upgrade: replace them.`,
        ]
      : []),
  ];
}

/** Numbers as ranges: `0-3, 7`. */
export function rangesText(numbers: readonly number[]): string {
  const ranges: [first: number, last: number][] = [];
  for (const each of numbers.toSorted((a, b) => a - b)) {
    const range = ranges.at(-1);
    if (range && each <= range[1] + 1) range[1] = each;
    else ranges.push([each, each]);
  }
  return ranges.map(([first, last]) => (first === last ? String(first) : `${first}-${last}`)).join(', ');
}
