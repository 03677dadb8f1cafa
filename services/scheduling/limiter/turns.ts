/**
 * Decides which request goes to its provider next, without clock or I/O.
 *
 * T1 The requests in flight at a provider never exceed its limit. Those of a project, at all providers together, never
 *    exceed the project's limit.
 * T2 A tenth of each limit is kept for deletions. Deletions and all other requests wait in separate lines, which take
 *    turns, so that neither starves behind the other.
 * T3 Within a line a free place goes to the project with the fewest requests in flight there (max-min: projects share
 *    the places that another does not use). Among equals it goes to the project served longest ago.
 * T4 Within a project stacks take turns, and the requests of a stack are sent in the order in which they came.
 * T5 A newer request of a resource takes the place of the older one, in flight or in line. At most one request per
 *    resource counts.
 * T6 No request of a resting stack is admitted.
 */
import type { WaitingRequest } from '../documents/held.ts';

export interface TurnLimits {
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

/** The deletions of a provider, or all its other requests. */
interface Line<W> {
  served: number;
  readonly queue: string;
  readonly urgent: boolean;
  readonly projects: Map<string, Share<W>>;
}

export class Turns<W extends WaitingRequest> {
  limits: TurnLimits;
  readonly #known = new Map<string, { request: W; sent: boolean }>();
  readonly #projects = new Map<string, Count>();
  readonly #queues = new Map<string, Count>();
  readonly #lines = new Map<string, Line<W>>();
  readonly #resting = new Set<string>();
  #turn = 0;

  constructor(limits: TurnLimits) {
    this.limits = limits;
  }

  /** Puts the request in line, unless it is already in line or in flight. Returns whether it is in flight now. */
  want(request: W): boolean {
    const known = this.#known.get(request.resource);
    if (known && known.request.fence >= request.fence) return known.sent;
    if (known) this.#leave(request.resource);
    // Another request does not inherit the place of a deletion, because that place may be kept for deletions.
    const inherits = known?.sent && known.request.queue === request.queue && (request.urgent || !known.request.urgent);
    this.#enter(request, inherits === true);
    return this.sent(request.resource);
  }

  /** Counts a request that was sent before this process counted. */
  count(request: W): void {
    if (!this.#known.has(request.resource)) this.#enter(request, true);
  }

  /** Puts a request back in line that was not sent, or may not have been sent. */
  putBack(request: W): void {
    const known = this.#known.get(request.resource);
    if (known && known.request.fence > request.fence) return;
    if (known) this.#leave(request.resource);
    this.#enter(request, false);
  }

  /** Frees the place of the resource, unless its request has this fence. Returns whether the request was in line. */
  settle(resource: string, fence: number | null): boolean {
    const known = this.#known.get(resource);
    if (!known || known.request.fence === fence) return false;
    this.#leave(resource);
    return !known.sent;
  }

  /** Drops a request that its stack no longer wants. */
  drop({ resource, fence }: W): void {
    if (this.#known.get(resource)?.request.fence === fence) this.#leave(resource);
  }

  /** Admits the requests whose turn has come; they count as in flight from now on. */
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

  /** Admits no request of the stack until all stacks wake. */
  rest(stack: string): void {
    this.#resting.add(stack);
  }

  rests(stack: string): boolean {
    return this.#resting.has(stack);
  }

  wake(): void {
    this.#resting.clear();
  }

  sent(resource: string): boolean {
    return this.#known.get(resource)?.sent === true;
  }

  waits(resource: string): boolean {
    return this.#known.get(resource)?.sent === false;
  }

  /** The requests of one stack that wait in line. */
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
      add(this.#projects, project, { urgent, by: 1 });
      add(this.#queues, queue, { urgent, by: 1 });
      return;
    }
    // A new stack goes behind the stacks that already wait.
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
      add(this.#projects, project, { urgent, by: -1 });
      add(this.#queues, queue, { urgent, by: -1 });
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
    const lane = least(this.#awake(best.share), ({ served }) => served);
    const [request] = lane?.waiting.values() ?? [];
    this.#turn += 1;
    best.line.served = best.share.served = this.#turn;
    if (lane) lane.served = this.#turn;
    return request;
  }

  #nextShare({ projects, urgent }: Line<W>): Share<W> | undefined {
    let best: Share<W> | undefined;
    for (const [project, share] of projects) {
      if (!this.#hasAwake(share) || !hasRoom(this.#projects.get(project), urgent, this.limits.project)) continue;
      const before = !best || share.inFlight - best.inFlight || share.served - best.served;
      if (before === true || before < 0) best = share;
    }
    return best;
  }

  #awake({ stacks }: Share<W>): Iterable<Lane<W>> {
    if (this.#resting.size === 0) return stacks.values();
    return [...stacks].flatMap(([stack, lane]) => (this.#resting.has(stack) ? [] : [lane]));
  }

  #hasAwake({ stacks }: Share<W>): boolean {
    if (this.#resting.size === 0) return stacks.size > 0;
    return [...stacks.keys()].some((stack) => !this.#resting.has(stack));
  }

  #lineOf({ queue, urgent }: W): Line<W> {
    return kept(this.#lines, `${urgent} ${queue}`, () => ({ served: 0, queue, urgent, projects: new Map() }));
  }

  #shareOf(request: W): Share<W> {
    const fresh = (): Share<W> => ({ served: (this.#turn += 1), inFlight: 0, stacks: new Map() });
    return kept(this.#lineOf(request).projects, request.project, fresh);
  }
}

/** T2. A limit of one has no reserve; then turns alone decide. */
export const reserveOf = (limit: number): number => (limit < 2 ? 0 : Math.max(1, Math.floor(limit / 10)));

function hasRoom(count: Count | undefined, urgent: boolean, limit: number): boolean {
  if (!count) return limit > 0;
  return count.all < limit && (urgent || count.all - count.urgent < limit - reserveOf(limit));
}

function add(counts: Map<string, Count>, key: string, { urgent, by }: { urgent: boolean; by: 1 | -1 }): void {
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
