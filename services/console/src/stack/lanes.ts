/** Lanes of a timeline: what ran on each host, in its order. Pure. */
import type { PlacedResource } from './resources.tsx';

export interface Ran {
  readonly resource: PlacedResource;
  readonly start: number;
  readonly end: number;
}
export interface TimelineLane {
  readonly name: string;
  readonly key: string;
  readonly bars: readonly Ran[];
}

/** Types of what runs on a host. */
const onHost = /Deployment$|Deployments$/;
const isHost = (type: string): boolean => /::Server$|::Instance$/.test(type);

/**
 * One lane for each host with everything that waited for it and runs there, and one for each other resource. A config
 * runs on the first host that it requires, directly or through other resources.
 */
export function lanesOf(ran: readonly Ran[]): readonly TimelineLane[] {
  const byPath = new Map(ran.map((each) => [each.resource.path, each]));
  const hostOf = new Map<string, string>();
  for (const { resource } of ran) if (isHost(resource.resource_type)) hostOf.set(resource.path, resource.path);
  const around = (path: string): string => path.slice(0, path.lastIndexOf('/') + 1);
  // A config that requires a host runs on that host; the same for each config that requires that one.
  const spread = (path: string, host: string): void => {
    for (const name of byPath.get(path)?.resource.required_by ?? []) {
      const next = byPath.get(around(path) + name);
      if (!next || hostOf.has(next.resource.path) || !onHost.test(next.resource.resource_type)) continue;
      hostOf.set(next.resource.path, host);
      spread(next.resource.path, host);
    }
  };
  const hosts = [...hostOf.keys()];
  for (const host of hosts) spread(host, host);
  const lanes = Map.groupBy(
    ran.toSorted((a, b) => a.start - b.start),
    ({ resource }) => hostOf.get(resource.path) ?? resource.path,
  );
  return Array.from(lanes, ([name, bars]) => ({ name, key: name, bars }));
}

/** The work of one action of the stack, between two times at which nothing ran. */
export interface TimelineAction {
  readonly from: number;
  readonly to: number;
  readonly ran: readonly Ran[];
}

/** Between two steps of one action something always runs, apart from messages on their way. */
const idleMs = 2_000;

/**
 * The actions, the oldest first. A resource shows only its latest action, so an earlier one has those that no later one
 * has touched.
 */
export function timelineActions(ran: readonly Ran[]): readonly TimelineAction[] {
  const actions: { from: number; to: number; ran: Ran[] }[] = [];
  for (const each of ran.toSorted((a, b) => a.start - b.start)) {
    const last = actions.at(-1);
    if (last && each.start <= last.to + idleMs) {
      last.ran.push(each);
      last.to = Math.max(last.to, each.end);
    } else {
      actions.push({ from: each.start, to: Math.max(each.end, each.start + 1), ran: [each] });
    }
  }
  return actions;
}
