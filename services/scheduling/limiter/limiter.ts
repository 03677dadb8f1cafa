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
import type { ServiceContext } from '@anneal/runtime/service.ts';
import type { Collection, Document } from '@anneal/store/port.ts';
import { Turns, type TurnLimits, type WaitingRequest } from './turns.ts';
import type { Cause, JournalRecord } from '../shard/journal.ts';
import type { ProviderDirectory } from '../shard/providers.ts';

/** A request that waits for its turn, and the cause that its message will name. The id is that of its resource. */
export interface HeldDocument extends WaitingRequest, Document {
  readonly cause: Cause;
  readonly traversal: string;
}
export type Held = Omit<HeldDocument, 'id' | 'version'>;
type Settled = Pick<JournalRecord, 'stack' | 'resources' | 'removed'>;

/** Sends requests of one stack, in a step of that stack. */
export type SendHeld = (stackId: string, requests: readonly Held[]) => Promise<void>;

interface Opening {
  readonly send: SendHeld;
  readonly read: (stackId: string) => Promise<void>;
}

export interface Limiter {
  /** Puts the requests in line, frees the places that a record settles, and returns which requests to send now. */
  pass(parameters: { wanted: readonly Held[]; settled?: Settled }): Promise<ReadonlySet<string>>;
  /** The request in the form that the gate keeps; undefined when it is not counted. */
  wantedOf(parameters: {
    stack: StackDocument;
    resource: ResourceDocument;
    shard: number;
  }): Omit<Held, 'cause'> | undefined;
  /** Counts the requests in flight of a stack that was just read. */
  count(parameters: { stack: StackDocument; resources: readonly ResourceDocument[]; shard: number }): void;
  /** Removes held requests that were sent, or that their stack no longer wants. */
  crossOut(requests: readonly Held[], unwanted: readonly Held[]): Promise<void>;
  /**
   * Starts to count for a shard that this process now owns. `read` reads a stack, which counts its requests in flight.
   */
  open(shard: number, how: Opening): void;
  close(shard: number): void;
  /** The numbers of requests in flight while a request is held back; undefined when it is not held back. */
  heldBehind(
    resource: ResourceDocument,
  ): Promise<{ project: number; provider: number; queue: string; here: boolean } | undefined>;
  stop(): void;
}

/** How long to wait before a failed turn is tried again. */
const againMs = 1000;

export function createLimiter(options: {
  context: Pick<ServiceContext, 'log'>;
  held: Collection<HeldDocument>;
  providers: Pick<ProviderDirectory, 'queueOf' | 'refresh'>;
  limits: TurnLimits;
  shards: { readonly count: number };
}): Limiter {
  const { context, held, providers, limits, shards } = options;
  const senders = new Map<number, SendHeld>();
  const turns = new Turns<Held>(limits);
  let again: NodeJS.Timeout | undefined;
  /** The number of shards whose held and in-flight requests are still being read. */
  let reading = 0;
  /** Admits no request until all requests in flight are counted. */
  const due = (): Held[] => (reading > 0 ? [] : turns.next());

  const share = (): void => {
    const part = (limit: number): number => Math.max(1, Math.floor((limit * Math.max(1, senders.size)) / shards.count));
    turns.limits = { project: part(limits.project), provider: part(limits.provider) };
  };
  share();

  const later = (): void => {
    again ??= setTimeout(() => {
      again = undefined;
      release(due());
    }, againMs).unref();
  };

  const release = (requests: readonly Held[]): void => {
    for (const [stack, ofStack] of Map.groupBy(requests, (request) => request.stack)) {
      const shard = ofStack[0]?.shard ?? 0;
      const sent = senders.get(shard)?.(stack, ofStack);
      // Without a sender this process lost the shard; the new owner reads the held requests.
      sent?.catch((error: unknown) => {
        context.log.warn({ err: error, stack, shard }, 'held requests not sent; they wait for another turn');
        for (const request of ofStack) if (senders.has(shard)) turns.putBack(request);
        later();
      });
    }
  };

  const readHeld = async (shard: number, { send, read }: Opening): Promise<void> => {
    reading += 1;
    try {
      // Another replica may have received the announcement of a provider.
      await providers.refresh();
      const found = await held.find({ where: { shard } });
      for (const { id: _, version: __, ...request } of found) turns.putBack(request);
      await Promise.all([...new Set(found.map(({ stack }) => stack))].map(read));
    } catch (error) {
      context.log.warn({ err: error, shard }, 'held requests not read; retrying');
      setTimeout(() => {
        if (senders.get(shard) === send) void readHeld(shard, { send, read });
      }, againMs).unref();
    } finally {
      reading -= 1;
      release(due());
    }
  };

  const remove = async (resources: readonly string[]): Promise<void> => {
    if (resources.length > 0) await held.bulk(resources.map((id) => ({ kind: 'remove', id })));
  };

  const settle = ({ resources, removed }: Settled): string[] => {
    const freed = resources.filter(({ id, request }) => turns.settle(id, isSent(request) ? request.fence : null));
    const gone = removed.filter(({ id }) => turns.settle(id, null));
    return [...freed, ...gone].map(({ id }) => id);
  };

  /** Releases overtaken requests without a place, because their turn only reports that they were not sent. */
  const withdraw = (stack: StackDocument): void => {
    const overtaken = turns.waitingOf(stack).filter((request) => isSuperseded(request, stack));
    for (const request of overtaken) turns.drop(request);
    release(overtaken);
  };

  const wantedOf: Limiter['wantedOf'] = ({ stack, resource, shard }) => {
    const queue = isNested(resource) ? undefined : providers.queueOf(resource.type);
    const { request } = resource;
    if (queue === undefined || queue === requestsQueue('scheduling') || !isSent(request)) return undefined;
    const urgent = request.action === 'delete';
    const { project, id } = stack;
    const { fence, traversal } = request;
    return { resource: resource.id, fence, traversal, stack: id, project, queue, shard, urgent };
  };

  return {
    wantedOf,
    async pass({ wanted, settled }) {
      // Only the owner of the shard counts. Any other process sends at once.
      if (wanted.some(({ shard }) => !senders.has(shard))) return new Set(wanted.map(({ resource }) => resource));
      const now = new Set(wanted.filter((request) => turns.want(request)).map(({ resource }) => resource));
      const crossed = settled ? settle(settled) : [];
      if (settled) withdraw(settled.stack);
      const ours = new Set(wanted.map(({ resource }) => resource));
      const others: Held[] = [];
      for (const request of due()) {
        if (ours.has(request.resource)) now.add(request.resource);
        else others.push(request);
      }
      release(others);
      const kept = wanted.filter(({ resource }) => !now.has(resource));
      if (kept.length > 0) {
        await held.bulk(kept.map((request) => ({ kind: 'put', document: { id: request.resource, ...request } })));
        await faultPoint('scheduling.held');
        // This process may have lost and regained the shard meanwhile, and read the held requests without these.
        for (const request of kept) {
          const known = turns.sent(request.resource) || turns.waits(request.resource);
          if (!known && senders.has(request.shard)) turns.putBack(request);
        }
      }
      await remove(crossed.filter((id) => !ours.has(id)));
      return now;
    },
    count({ stack, resources, shard }) {
      if (!senders.has(shard)) return;
      for (const resource of resources) {
        const wanted = wantedOf({ stack, resource, shard });
        if (wanted) turns.count({ ...wanted, cause: { id: '', correlationid: '' } });
      }
    },
    async crossOut(requests, unwanted) {
      for (const request of unwanted) turns.drop(request);
      // Keep the document when a newer request of the same resource waits, because both have the same id.
      const done = [...requests, ...unwanted].map(({ resource }) => resource);
      await remove(done.filter((resource) => !turns.waits(resource)));
      release(due());
    },
    open(shard, how) {
      senders.set(shard, how.send);
      share();
      void readHeld(shard, how);
    },
    close(shard) {
      if (!senders.delete(shard)) return;
      turns.forgetShard(shard);
      share();
    },
    async heldBehind({ id, request }) {
      const found = await held.get(id);
      if (!found || found.fence !== request?.fence || turns.sent(id)) return undefined;
      return { ...turns.inFlight(found), queue: found.queue, here: senders.has(found.shard) };
    },
    stop() {
      clearTimeout(again);
      senders.clear();
    },
  };
}

/** Whether the stack no longer wants the request: it only waits for running requests, or has a newer traversal. */
export const isSuperseded = ({ traversal }: Held, stack: StackDocument): boolean =>
  stack.phase !== 'converging' || stack.traversal !== traversal;

const isSent = (request: ResourceDocument['request']): request is NonNullable<ResourceDocument['request']> =>
  request !== null && request.not_before === null;
