/**
 * Limits the requests in flight per project and per provider, in fair turns (see `turns.ts`). The core limits the
 * requests of one stack.
 *
 * G1 A request holds a place from the moment it may be sent until a record of its stack shows that its resource no
 *    longer waits for it: it was answered, given up on, overtaken by a newer request, or postponed after a conflict.
 * G2 A held request is stored before the record that wants it is closed, and removed after it was sent. A crash in
 *    between sends it again, and its provider answers it as a repeat.
 * G3 A held request is sent in a step of its stack, like everything of the stack (H1), and only if it is still pending.
 * G4 A held request is withdrawn at once when its stack stops converging, or converges to a newer target, so that a
 *    cancel, a rollback or a deletion does not wait until the request is sent.
 * G5 Nested stacks and the provider within this service are not counted. The requests that they wait for may be held
 *    here, and a place that a nested stack holds could then never become free.
 * G6 After a failed turn its stack rests. Its requests wait in line meanwhile, so that others use the places. Without the rest,
 *    two failed turns give each other their places without end, and nothing else runs.
 *
 * The limits apply to all replicas together. Each replica gives out the part that belongs to the shards it owns,
 * rounded down, but at least one. Fairness is exact within a process. After a restart, or when a shard has moved, the
 * new owner reads the held requests again, and the requests in flight of the same stacks. It counts the requests of
 * other stacks when it next processes the stack. Until then there may be more requests in flight than the limits allow.
 * A process that is losing a shard sends its requests uncounted, because its successor might not read a request that
 * waits here.
 */
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { isNested, type ResourceDocument, type StackDocument } from '@anneal/convergence/documents.ts';
import { faultPoint } from '@anneal/runtime/fault.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { Collection } from '@anneal/store/port.ts';
import { Turns, type TurnLimits } from './turns.ts';
import type { JournalRecord } from '../documents/journal.ts';
import type { ProviderDirectory } from '../providers.ts';
import type { HeldDocument } from '../documents/held.ts';

export type Held = Omit<HeldDocument, 'id' | 'version'>;
type Settled = Pick<JournalRecord, 'stack' | 'resources' | 'removed'>;

/** Sends requests of one stack, in a step of that stack. */
export type SendHeld = (stackId: string, requests: readonly Held[]) => Promise<void>;

interface Opening {
  readonly send: SendHeld;
  readonly read: (stackId: string) => Promise<void>;
}

/** How long a stack rests after a failed turn, and a failed reading waits for its repeat. */
const againMs = 1000;

interface LimiterOptions {
  readonly context: Pick<ServiceContext, 'log'>;
  readonly held: Collection<HeldDocument>;
  readonly providers: Pick<ProviderDirectory, 'queueOf' | 'refresh'>;
  readonly limits: TurnLimits;
  readonly shards: { readonly count: number };
}

interface HeldBehind {
  /** In flight, of its project and of its provider. */
  readonly project: number;
  readonly provider: number;
  readonly limits: TurnLimits;
  /** Whether this process counts them. */
  readonly here: boolean;
}

interface CountedRequest {
  readonly stack: StackDocument;
  readonly resource: ResourceDocument;
  readonly shard: number;
}

export class Limiter {
  readonly #options: LimiterOptions;
  readonly #senders = new Map<number, SendHeld>();
  readonly #turns: Turns<Held>;
  #again: NodeJS.Timeout | undefined;
  /** The newest states of resting stacks, whose overtaken requests are withdrawn after the rest. */
  readonly #toWithdraw = new Map<string, StackDocument>();
  /** The number of shards whose held and in-flight requests are still being read. */
  #reading = 0;

  constructor(options: LimiterOptions) {
    this.#options = options;
    this.#turns = new Turns<Held>(options.limits);
    this.#share();
  }

  /** Puts the requests in line, frees the places that a record settles, and returns which requests to send now. */
  async pass({ wanted, settled }: { wanted: readonly Held[]; settled?: Settled }): Promise<ReadonlySet<string>> {
    // Only the owner of the shard counts. Any other process sends at once.
    if (wanted.some(({ shard }) => !this.#senders.has(shard))) return new Set(wanted.map(({ resource }) => resource));
    const now = new Set(wanted.filter((request) => this.#turns.want(request)).map(({ resource }) => resource));
    const crossed = settled ? this.#settle(settled) : [];
    if (settled) this.#withdraw(settled.stack);
    const ours = new Set(wanted.map(({ resource }) => resource));
    const others: Held[] = [];
    for (const request of this.#due()) {
      if (ours.has(request.resource)) now.add(request.resource);
      else others.push(request);
    }
    this.#release(others);
    const kept = wanted.filter(({ resource }) => !now.has(resource));
    if (kept.length > 0) {
      await this.#options.held.bulk(
        kept.map((request) => ({ kind: 'put', document: { id: request.resource, ...request } })),
      );
      await faultPoint('scheduling.held');
      // This process may have lost and regained the shard meanwhile, and read the held requests without these.
      for (const request of kept) {
        const known = this.#turns.sent(request.resource) || this.#turns.waits(request.resource);
        if (!known && this.#senders.has(request.shard)) this.#turns.putBack(request);
      }
    }
    await this.#remove(crossed.filter((id) => !ours.has(id)));
    return now;
  }

  /** Counts the requests in flight of a stack that was just read. */
  count({
    stack,
    resources,
    shard,
  }: {
    stack: StackDocument;
    resources: readonly ResourceDocument[];
    shard: number;
  }): void {
    if (!this.#senders.has(shard)) return;
    for (const resource of resources) {
      const wanted = this.wantedOf({ stack, resource, shard });
      if (wanted) this.#turns.count({ ...wanted, cause: { id: '', correlationid: '' } });
    }
  }

  /** Removes held requests that were sent, or that their stack no longer wants. */
  async crossOut(requests: readonly Held[], unwanted: readonly Held[]): Promise<void> {
    for (const request of unwanted) this.#turns.drop(request);
    // Keep the document when a newer request of the same resource waits, because both have the same id.
    const done = [...requests, ...unwanted].map(({ resource }) => resource);
    await this.#remove(done.filter((resource) => !this.#turns.waits(resource)));
    this.#release(this.#due());
  }

  /** Starts to count for a shard that this process now owns. `read` reads a stack, which counts its requests in flight. */
  open(shard: number, how: Opening): void {
    this.#senders.set(shard, how.send);
    this.#share();
    void this.#readHeld(shard, how);
  }

  close(shard: number): void {
    if (!this.#senders.delete(shard)) return;
    this.#turns.forgetShard(shard);
    this.#share();
  }

  /** The numbers of requests in flight while a request is held back; undefined when it is not held back. */
  async heldBehind({ id, request }: ResourceDocument): Promise<HeldBehind | undefined> {
    const { held, limits } = this.#options;
    const found = await held.get(id);
    if (!found || found.fence !== request?.fence || this.#turns.sent(id)) return undefined;
    return { ...this.#turns.inFlight(found), limits, here: this.#senders.has(found.shard) };
  }

  stop(): void {
    clearTimeout(this.#again);
    this.#senders.clear();
  }

  /** The request in the form that the gate keeps; undefined when it is not counted. */
  wantedOf({ stack, resource, shard }: CountedRequest): Omit<Held, 'cause'> | undefined {
    const queue = isNested(resource) ? undefined : this.#options.providers.queueOf(resource.type);
    const { request } = resource;
    if (queue === undefined || queue === requestsQueue('scheduling') || !isSent(request)) return undefined;
    const urgent = request.action === 'delete';
    const { project, id } = stack;
    const { fence, traversal } = request;
    return { resource: resource.id, fence, traversal, stack: id, project, queue, shard, urgent };
  }

  /** Admits no request until all requests in flight are counted. */
  #due(): Held[] {
    return this.#reading > 0 ? [] : this.#turns.next();
  }

  #share(): void {
    const part = (limit: number): number =>
      Math.max(1, Math.floor((limit * Math.max(1, this.#senders.size)) / this.#options.shards.count));
    this.#turns.limits = { project: part(this.#options.limits.project), provider: part(this.#options.limits.provider) };
  }

  #rest(stack: string): void {
    this.#turns.rest(stack);
    this.#again ??= setTimeout(() => {
      this.#again = undefined;
      this.#turns.wake();
      const stacks = [...this.#toWithdraw.values()];
      this.#toWithdraw.clear();
      for (const each of stacks) this.#withdraw(each);
      this.#release(this.#due());
    }, againMs).unref();
  }

  #release(requests: readonly Held[]): void {
    for (const [stack, ofStack] of Map.groupBy(requests, (request) => request.stack)) {
      const shard = ofStack[0]?.shard ?? 0;
      const sent = this.#senders.get(shard)?.(stack, ofStack);
      // Without a sender this process lost the shard; the new owner reads the held requests.
      sent?.catch((error: unknown) => {
        this.#options.context.log.warn(
          { err: error, stack, shard },
          'held requests not sent; they wait for another turn',
        );
        for (const request of ofStack) if (this.#senders.has(shard)) this.#turns.putBack(request);
        this.#rest(stack);
      });
    }
  }

  async #readHeld(shard: number, { send, read }: Opening): Promise<void> {
    this.#reading += 1;
    try {
      // Another replica may have received the announcement of a provider.
      await this.#options.providers.refresh();
      const found = await this.#options.held.find({ where: { shard } });
      for (const { id: _, version: __, ...request } of found) this.#turns.putBack(request);
      await Promise.all([...new Set(found.map(({ stack }) => stack))].map(read));
    } catch (error) {
      this.#options.context.log.warn({ err: error, shard }, 'held requests not read; retrying');
      setTimeout(() => {
        if (this.#senders.get(shard) === send) void this.#readHeld(shard, { send, read });
      }, againMs).unref();
    } finally {
      this.#reading -= 1;
      this.#release(this.#due());
    }
  }

  async #remove(resources: readonly string[]): Promise<void> {
    if (resources.length > 0) await this.#options.held.bulk(resources.map((id) => ({ kind: 'remove', id })));
  }

  #settle({ resources, removed }: Settled): string[] {
    const freed = resources.filter(({ id, request }) => this.#turns.settle(id, isSent(request) ? request.fence : null));
    const gone = removed.filter(({ id }) => this.#turns.settle(id, null));
    return [...freed, ...gone].map(({ id }) => id);
  }

  /** Releases overtaken requests without a place, because their turn only reports that they were not sent. */
  #withdraw(stack: StackDocument): void {
    if (this.#turns.rests(stack.id)) {
      this.#toWithdraw.set(stack.id, stack);
      return;
    }
    const overtaken = this.#turns.waitingOf(stack).filter((request) => isSuperseded(request, stack));
    for (const request of overtaken) this.#turns.drop(request);
    this.#release(overtaken);
  }
}

/** Whether the stack no longer wants the request: it only waits for running requests, or has a newer traversal. */
export const isSuperseded = ({ traversal }: Held, stack: StackDocument): boolean =>
  stack.phase !== 'converging' || stack.traversal !== traversal;

const isSent = (request: ResourceDocument['request']): request is NonNullable<ResourceDocument['request']> =>
  request !== null && request.not_before === null;
