/**
 * Holds requests back from their providers while too many are there: per project and per provider, in fair turns (see
 * `gate-turns.ts`). Per stack, the core itself starts no more than its limit.
 *
 * G1 A request holds a place from the moment it may be sent until a record of its stack says that its resource no longer
 *    asks for it: answered, given up on, overtaken by a newer request, or put off after a conflict.
 * G2 What is held is written down before the record that wants it is closed, and crossed out after it was sent: a crash in
 *    between sends it again, which its provider answers as the repeat that it is.
 * G3 A held request goes out in a turn of its stack, like everything of the stack (H1), and only if it is still pending.
 * G4 What is held when its stack stops converging, or converges to something newer, is withdrawn at once: a cancel, a
 *    rollback or a deletion does not wait until it has been begun.
 * G5 Nested stacks and the provider within this service are not counted: what they wait for may itself be held here, and
 *    a place they kept could then never be free.
 *
 * The limits are those of all replicas together: each gives out the part that belongs to the shards it has, rounded down,
 * but at least one. Fairness is exact within a process. After a restart, or when a shard has moved, what is held is read
 * again, with the requests in flight of the same stacks; those of other stacks are counted when the stack is next touched,
 * so that until then there may be more in flight than the limits say.
 * What a process sends of a shard that it is losing is not counted: waiting here, it might not be read by its successor.
 */
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { isNested, type ResourceDocument, type StackDocument } from '@anneal/convergence/documents.ts';
import { faultPoint } from '@anneal/runtime/fault.ts';
import type { ServiceContext } from '@anneal/runtime/service.ts';
import type { Collection, Document } from '@anneal/store/port.ts';
import { Turns, type Limits, type Wanted } from './gate-turns.ts';
import type { Cause, JournalRecord } from './journal.ts';
import type { Providers } from './providers.ts';

/** A request that waits for its turn, and what its message will carry on. The id is that of its resource. */
export interface HeldDocument extends Wanted, Document {
  readonly cause: Cause;
  readonly traversal: string;
}
export type Held = Omit<HeldDocument, 'id' | 'version'>;
type Settled = Pick<JournalRecord, 'stack' | 'resources' | 'removed'>;

/** Has requests of one stack sent, in a turn of that stack. */
export type SendHeld = (stackId: string, requests: readonly Held[]) => Promise<void>;

interface Opening {
  readonly send: SendHeld;
  readonly read: (stackId: string) => Promise<void>;
}

export interface Gate {
  /** Puts the requests in line, frees what a record has settled, and answers which of the requests are to be sent now. */
  pass(parameters: { wanted: readonly Held[]; settled?: Settled }): Promise<ReadonlySet<string>>;
  /** The request as it would stand in line; undefined when it is not counted. */
  wantedOf(parameters: {
    stack: StackDocument;
    resource: ResourceDocument;
    shard: number;
  }): Omit<Held, 'cause'> | undefined;
  /** Counts what a stack that was just read has in flight. */
  count(parameters: { stack: StackDocument; resources: readonly ResourceDocument[]; shard: number }): void;
  /** They were sent, or are no longer wanted. */
  crossOut(requests: readonly Held[], unwanted: readonly Held[]): Promise<void>;
  /** This process has the shard now. `read` reads a stack, so that what it has in flight is counted. */
  open(shard: number, how: Opening): void;
  close(shard: number): void;
  /** How many are in flight besides one that is held; undefined when it is not. */
  heldBehind(
    resource: ResourceDocument,
  ): Promise<{ project: number; provider: number; queue: string; here: boolean } | undefined>;
  stop(): void;
}

/** How long to wait before a turn that failed is taken again. */
const againMs = 1000;

export function createGate(options: {
  context: Pick<ServiceContext, 'log'>;
  held: Collection<HeldDocument>;
  providers: Pick<Providers, 'queueOf' | 'refresh'>;
  limits: Limits;
  shards: { readonly count: number };
}): Gate {
  const { context, held, providers, limits, shards } = options;
  const senders = new Map<number, SendHeld>();
  const turns = new Turns<Held>(limits);
  let again: NodeJS.Timeout | undefined;
  /** Shards of which is being read what they hold and have in flight. */
  let reading = 0;
  /** Nobody's turn comes before it is known how much is in flight. */
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
      // Without one the shard has gone: whoever has it reads what is held.
      sent?.catch((error: unknown) => {
        context.log.warn({ err: error, stack, shard }, 'held requests could not be sent; they wait for another turn');
        for (const request of ofStack) if (senders.has(shard)) turns.putBack(request);
        later();
      });
    }
  };

  const readHeld = async (shard: number, { send, read }: Opening): Promise<void> => {
    reading += 1;
    try {
      // Another replica may have heard of a provider.
      await providers.refresh();
      const found = await held.find({ where: { shard } });
      for (const { id: _, version: __, ...request } of found) turns.putBack(request);
      await Promise.all([...new Set(found.map(({ stack }) => stack))].map(read));
    } catch (error) {
      context.log.warn({ err: error, shard }, 'could not read which requests are held back; they are read again');
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

  /** Needs no place: its turn only tells that it is not begun. */
  const withdraw = (stack: StackDocument): void => {
    const overtaken = turns.waitingOf(stack).filter((request) => isOvertaken(request, stack));
    for (const request of overtaken) turns.drop(request);
    release(overtaken);
  };

  const wantedOf: Gate['wantedOf'] = ({ stack, resource, shard }) => {
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
      // Whoever has the shard counts.
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
        // The shard may have gone and come back meanwhile, and what was read then did not hold these.
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
      // What waits is a newer request of the resource, and is written down in the same place.
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

/** Nobody waits for it to begin: its stack only awaits what runs, or goes on to something newer. */
export const isOvertaken = ({ traversal }: Held, stack: StackDocument): boolean =>
  stack.phase !== 'converging' || stack.traversal !== traversal;

const isSent = (request: ResourceDocument['request']): request is NonNullable<ResourceDocument['request']> =>
  request !== null && request.not_before === null;
