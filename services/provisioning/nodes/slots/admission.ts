/**
 * Decides which nodes may begin to deploy, clean or erase. Pure.
 *
 * A1 No limit is exceeded: neither in total, nor in a rack, nor in a power domain, nor of an image server.
 * A2 The project with the fewest slots comes first, then the node that waits longest. So a project with a thousand nodes
 *    delays another one by one slot at most.
 * A3 A node that only the limit of its rack, power domain or image server stops does not delay the nodes behind it.
 */
import type { SlotTurn } from '../../documents/node.ts';

export const slotKinds = ['deploy', 'clean', 'erase'] as const;
export type SlotKind = (typeof slotKinds)[number];

/** The most nodes at the same time. Absent: no limit. */
export interface SlotLimits {
  readonly total?: number | undefined;
  readonly rack?: number | undefined;
  readonly power_domain?: number | undefined;
  /** From one image server. */
  readonly image_server?: number | undefined;
}
export type LimitsOfKinds = Readonly<Record<SlotKind, SlotLimits>>;

/** A node that works, or waits for the work. */
export interface SlotUser {
  readonly node: string;
  readonly kind: SlotKind;
  readonly project: string;
  readonly rack: string;
  readonly power_domain: string;
  /** The origin of the server from which it fetches its image. Absent: it fetches none. */
  readonly image_server?: string;
}
export interface SlotWaiter extends SlotUser {
  /** When it began to wait. */
  readonly since: string;
}

const domains = ['total', 'rack', 'power_domain', 'image_server'] as const;

export function admission({
  holders,
  waiting,
  limits,
}: {
  holders: readonly SlotUser[];
  waiting: readonly SlotWaiter[];
  limits: LimitsOfKinds;
}): { admitted: SlotWaiter[]; queue: ReadonlyMap<string, SlotTurn> } {
  const admitted: SlotWaiter[] = [];
  const queue = new Map<string, SlotTurn>();
  for (const kind of slotKinds) {
    const isOfKind = (user: SlotUser): boolean => user.kind === kind;
    const counts = new Counts(holders.filter(isOfKind));
    const left: { waiter: SlotWaiter; full: readonly string[] }[] = [];
    for (const waiter of inTurn(waiting.filter(isOfKind), holders.filter(isOfKind))) {
      const full = reached(waiter, { counts, limits: limits[kind] });
      if (full.length > 0) {
        left.push({ waiter, full });
        continue;
      }
      counts.add(waiter);
      admitted.push(waiter);
    }
    for (const [at, { waiter, full }] of left.entries())
      queue.set(waiter.node, { position: at + 1, of: left.length, why: full.join(', ') });
  }
  return { admitted, queue };
}

const placeIn = (user: SlotUser, domain: (typeof domains)[number]): string =>
  domain === 'total' ? 'total' : `${domain}\n${user[domain]}`;

/** A node that fetches no image counts for no image server. */
const domainsOf = ({ image_server: server }: SlotUser): readonly (typeof domains)[number][] =>
  domains.filter((domain) => domain !== 'image_server' || server !== undefined);

class Counts {
  readonly #counts = new Map<string, number>();

  constructor(users: readonly SlotUser[]) {
    for (const user of users) this.add(user);
  }

  add(user: SlotUser): void {
    for (const domain of domainsOf(user)) this.#counts.set(placeIn(user, domain), this.of(user, domain) + 1);
  }

  of(user: SlotUser, domain: (typeof domains)[number]): number {
    return this.#counts.get(placeIn(user, domain)) ?? 0;
  }
}

/** A1. The limits that stop this node. */
function reached(waiter: SlotWaiter, { counts, limits }: { counts: Counts; limits: SlotLimits }): string[] {
  return domainsOf(waiter).flatMap((domain) => {
    const most = limits[domain] ?? Infinity;
    const count = counts.of(waiter, domain);
    if (count < most) return [];
    return [`${count} of ${most} ${waiter.kind}s${whereText(waiter, domain)}`];
  });
}

function whereText(user: SlotUser, domain: (typeof domains)[number]): string {
  if (domain === 'total') return '';
  if (domain === 'image_server') return ` from image server ${user.image_server}`;
  return ` in ${domain.replace('_', ' ')} ${user[domain]}`;
}

/** A2 */
function inTurn(waiting: readonly SlotWaiter[], holders: readonly SlotUser[]): SlotWaiter[] {
  const used = new Map<string, number>();
  for (const { project } of holders) used.set(project, (used.get(project) ?? 0) + 1);
  const queues = [...Map.groupBy(waiting, ({ project }) => project)].map(([project, list]) => ({
    list: list.toSorted((a, b) => (a.since === b.since ? (a.node < b.node ? -1 : 1) : a.since < b.since ? -1 : 1)),
    used: used.get(project) ?? 0,
    at: 0,
  }));
  const order: SlotWaiter[] = [];
  while (order.length < waiting.length) {
    const [next] = queues
      .filter(({ list, at }) => at < list.length)
      .toSorted((a, b) => a.used - b.used || ((a.list[a.at]?.since ?? '') < (b.list[b.at]?.since ?? '') ? -1 : 1));
    const waiter = next?.list[next.at];
    if (!next || !waiter) break;
    order.push(waiter);
    next.at += 1;
    next.used += 1;
  }
  return order;
}
