/**
 * Decides which process should own which queue with a single active consumer. Pure: the same facts lead every process
 * to the same assignment. When two processes claim the same queue at once, the compare-and-set of the owner's record
 * decides.
 *
 * Queues wanted by the same members are shared evenly among them. A queue stays with its owner, unless the owner has
 * more than its share while another member has less.
 */
export interface OwnershipMap {
  readonly me: string;
  /** The processes that are alive, with the queues that each wants. */
  readonly members: ReadonlyMap<string, ReadonlySet<string>>;
  /** The owner of each queue. An absent or dead owner means that the queue is free. */
  readonly owners: ReadonlyMap<string, string>;
}

/** The queues that this process must claim and yield, so that all processes have an even share. */
export interface Assignment {
  readonly claim: readonly string[];
  readonly yield: readonly string[];
  /** True when no process has a queue to claim or to yield. */
  readonly settled: boolean;
}

/** The queues that this process should claim, give and keep. */
export function assignmentOf({ me, members, owners }: OwnershipMap): Assignment {
  const claim: string[] = [];
  const give: string[] = [];
  let settled = true;
  for (const { queues, wanters } of classesOf(members, me)) {
    const held = new Map(wanters.map((id) => [id, 0]));
    const free: string[] = [];
    for (const queue of queues) {
      const owner = owners.get(queue);
      const count = owner === undefined ? undefined : held.get(owner);
      if (owner === undefined || count === undefined) free.push(queue);
      else held.set(owner, count + 1);
    }
    if (free.length > 0 || Math.max(...held.values()) - Math.min(...held.values()) > 1) settled = false;
    // Each free queue goes to the member with the fewest; every process counts the same way.
    for (const queue of free) {
      const least = wanters.reduce((best, id) => ((held.get(id) ?? 0) < (held.get(best) ?? 0) ? id : best));
      held.set(least, (held.get(least) ?? 0) + 1);
      if (least === me) claim.push(queue);
    }
    const fair = Math.ceil(queues.length / wanters.length);
    const least = Math.min(...held.values());
    const mine = queues.filter((queue) => owners.get(queue) === me);
    // Down to the share, or one below it where that levels the last difference.
    let excess = mine.length - fair;
    if (excess <= 0 && mine.length - least >= 2) excess = 1;
    if (excess > 0 && least < fair) give.push(...mine.slice(mine.length - excess));
  }
  return { claim, yield: give, settled };
}

/** Groups the queues that this member wants by the members that want them. */
function classesOf(members: OwnershipMap['members'], me: string): { queues: string[]; wanters: string[] }[] {
  const ids = [...members.keys()].sort();
  const classes = new Map<string, { queues: string[]; wanters: string[] }>();
  for (const queue of [...(members.get(me) ?? [])].sort()) {
    const wanters = ids.filter((id) => members.get(id)?.has(queue));
    const key = wanters.join(' ');
    const known = classes.get(key);
    if (known) known.queues.push(queue);
    else classes.set(key, { queues: [queue], wanters });
  }
  return [...classes.values()];
}
