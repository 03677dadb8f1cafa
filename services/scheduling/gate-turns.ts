/**
 * Whose request goes to its provider next: the decision alone, without clock or I/O.
 *
 * T1 Never more in flight at a provider than its limit, nor of a project, at all providers together, than the project's.
 * T2 A tenth of each limit is kept for deletions. They and everything else stand in lines of their own, which take turns:
 *    neither starves behind the other.
 * T3 Within a line a free place goes to the project that has the fewest in flight there (max-min: what one does not want
 *    is shared by the others); of equals, to the one served longest ago.
 * T4 Within a project stacks take turns, and the requests of a stack go in the order in which they came.
 * T5 A newer request of a resource takes the place of its older one, in flight or in line: of one resource at most one
 *    counts.
 */
export interface Wanted {
  readonly resource: string;
  readonly fence: number;
  readonly stack: string;
  readonly project: string;
  readonly queue: string;
  readonly shard: number;
  readonly urgent: boolean;
}

export interface Limits {
  readonly project: number;
  readonly provider: number;
}

interface Count {
  all: number;
  urgent: number;
}

interface Lane<W> {
  served: number;
  readonly waiting: Map<string, W>;
}

interface Share<W> {
  served: number;
  inFlight: number;
  readonly stacks: Map<string, Lane<W>>;
}

/** The deletions of a provider, or all else. */
interface Line<W> {
  served: number;
  readonly queue: string;
  readonly urgent: boolean;
  readonly projects: Map<string, Share<W>>;
}

export class Turns<W extends Wanted> {
  limits: Limits;
  readonly #known = new Map<string, { request: W; sent: boolean }>();
  readonly #projects = new Map<string, Count>();
  readonly #queues = new Map<string, Count>();
  readonly #lines = new Map<string, Line<W>>();
  #turn = 0;

  constructor(limits: Limits) {
    this.limits = limits;
  }

  /** Puts it in line, unless it is there already or in flight. Answers whether it is in flight now. */
  want(request: W): boolean {
    const known = this.#known.get(request.resource);
    if (known && known.request.fence >= request.fence) return known.sent;
    if (known) this.#leave(request.resource);
    // Not from a deletion's place, which may be one that is kept for deletions.
    const inherits = known?.sent && known.request.queue === request.queue && (request.urgent || !known.request.urgent);
    this.#enter(request, inherits === true);
    return this.sent(request.resource);
  }

  /** It was sent before anybody counted here. */
  count(request: W): void {
    if (!this.#known.has(request.resource)) this.#enter(request, true);
  }

  /** It was not sent after all, or nobody knows whether it was. */
  putBack(request: W): void {
    const known = this.#known.get(request.resource);
    if (known && known.request.fence > request.fence) return;
    if (known) this.#leave(request.resource);
    this.#enter(request, false);
  }

  /** Frees what the resource holds, unless this is the fence of it. Answers whether it stood in line. */
  settle(resource: string, fence: number | null): boolean {
    const known = this.#known.get(resource);
    if (!known || known.request.fence === fence) return false;
    this.#leave(resource);
    return !known.sent;
  }

  /** Nobody wants it any more. */
  drop({ resource, fence }: W): void {
    if (this.#known.get(resource)?.request.fence === fence) this.#leave(resource);
  }

  /** Those whose turn it is; they are in flight from now on. */
  next(): W[] {
    const admitted: W[] = [];
    for (let request = this.#pick(); request; request = this.#pick()) {
      this.#leave(request.resource);
      this.#enter(request, true);
      admitted.push(request);
    }
    return admitted;
  }

  forgetShard(shard: number): void {
    for (const [resource, { request }] of this.#known) if (request.shard === shard) this.#leave(resource);
  }

  sent(resource: string): boolean {
    return this.#known.get(resource)?.sent === true;
  }

  waits(resource: string): boolean {
    return this.#known.get(resource)?.sent === false;
  }

  /** Of one stack. */
  waitingOf({ project, id }: { project: string; id: string }): W[] {
    return [...this.#lines.values()].flatMap(({ projects }) => [
      ...(projects.get(project)?.stacks.get(id)?.waiting.values() ?? []),
    ]);
  }

  inFlight({ project, queue }: { project: string; queue: string }): { project: number; provider: number } {
    return { project: this.#projects.get(project)?.all ?? 0, provider: this.#queues.get(queue)?.all ?? 0 };
  }

  #enter(request: W, sent: boolean): void {
    const { resource, project, queue, urgent, stack } = request;
    this.#known.set(resource, { request, sent });
    const share = this.#shareOf(request);
    if (sent) {
      share.inFlight += 1;
      add(this.#projects, project, urgent, 1);
      add(this.#queues, queue, urgent, 1);
      return;
    }
    // Who comes anew stands behind those who wait.
    const lane = kept(share.stacks, stack, () => ({ served: (this.#turn += 1), waiting: new Map<string, W>() }));
    lane.waiting.set(resource, request);
  }

  #leave(resource: string): void {
    const known = this.#known.get(resource);
    if (!known) return;
    const { request, sent } = known;
    const { project, queue, urgent, stack } = request;
    this.#known.delete(resource);
    const share = this.#shareOf(request);
    if (sent) {
      share.inFlight -= 1;
      add(this.#projects, project, urgent, -1);
      add(this.#queues, queue, urgent, -1);
    } else {
      const lane = share.stacks.get(stack);
      lane?.waiting.delete(resource);
      if (lane?.waiting.size === 0) share.stacks.delete(stack);
    }
    if (share.inFlight === 0 && share.stacks.size === 0) this.#lineOf(request).projects.delete(project);
  }

  #pick(): W | undefined {
    let best: { line: Line<W>; share: Share<W> } | undefined;
    for (const line of this.#lines.values()) {
      if (best && best.line.served <= line.served) continue;
      if (!hasRoom(this.#queues.get(line.queue), line.urgent, this.limits.provider)) continue;
      const share = this.#nextShare(line);
      if (share) best = { line, share };
    }
    if (!best) return undefined;
    const lane = least(best.share.stacks.values(), ({ served }) => served);
    const [request] = lane?.waiting.values() ?? [];
    this.#turn += 1;
    best.line.served = best.share.served = this.#turn;
    if (lane) lane.served = this.#turn;
    return request;
  }

  #nextShare({ projects, urgent }: Line<W>): Share<W> | undefined {
    let best: Share<W> | undefined;
    for (const [project, share] of projects) {
      if (share.stacks.size === 0 || !hasRoom(this.#projects.get(project), urgent, this.limits.project)) continue;
      const before = !best || share.inFlight - best.inFlight || share.served - best.served;
      if (before === true || before < 0) best = share;
    }
    return best;
  }

  #lineOf({ queue, urgent }: W): Line<W> {
    return kept(this.#lines, `${urgent} ${queue}`, () => ({ served: 0, queue, urgent, projects: new Map() }));
  }

  #shareOf(request: W): Share<W> {
    const fresh = (): Share<W> => ({ served: (this.#turn += 1), inFlight: 0, stacks: new Map() });
    return kept(this.#lineOf(request).projects, request.project, fresh);
  }
}

/** T2. Of a limit of one nothing can be kept; then turns alone decide. */
export const reserveOf = (limit: number): number => (limit < 2 ? 0 : Math.max(1, Math.floor(limit / 10)));

function hasRoom(count: Count | undefined, urgent: boolean, limit: number): boolean {
  if (!count) return limit > 0;
  return count.all < limit && (urgent || count.all - count.urgent < limit - reserveOf(limit));
}

function add(counts: Map<string, Count>, key: string, urgent: boolean, by: 1 | -1): void {
  const count = kept(counts, key, () => ({ all: 0, urgent: 0 }));
  count.all += by;
  if (urgent) count.urgent += by;
  if (count.all === 0) counts.delete(key);
}

function kept<V>(map: Map<string, V>, key: string, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = make()));
  return value;
}

function least<V>(values: Iterable<V>, of: (value: V) => number): V | undefined {
  let best: V | undefined;
  for (const value of values) if (best === undefined || of(value) < of(best)) best = value;
  return best;
}
