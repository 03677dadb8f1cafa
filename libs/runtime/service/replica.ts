/**
 * The sign of life of this process for operators: its services, its release, what keeps it from being ready, and its
 * shards. Processes take over queues from each other by another sign, which disappears within seconds of a death
 * (`libs/bus/active`). This one stays, so that an operator sees which process is missing.
 *
 * R1 The process writes its document every five seconds, and when a shard comes or goes.
 * R2 A process that stops in order removes its document. The gateways remove that of a killed process after a while
 *    (`services/gateway/replicas.ts`).
 * R3 A process that starts removes the documents of processes of its machine that no longer run: it may be the successor
 *    of one. On the embedded broker it is the only process, so it removes all of them.
 */
import { hostname } from 'node:os';
import { shardOfQueue, type ServiceName } from '@anneal/contracts/queues.ts';
import type { Collection, Document, Store } from '@anneal/store/port.ts';
import { isRunning } from './folder-lock.ts';
import manifest from '../package.json' with { type: 'json' };

/** A renewal is a write to the database, so that it is much rarer than the readers need. */
export const beatMs = 5_000;

/** Forms of messages that earlier releases cannot read. They are sent to a service once all its processes read them. */
const newForms = ['sealed questions'] as const;
/** One of them, by its name in the sign of life. */
export type NewForm = (typeof newForms)[number];

/** The latest sign of life of one process, written by that process only. */
export interface ReplicaDocument extends Document {
  readonly services: readonly ServiceName[];
  readonly machine: string;
  readonly pid: number;
  readonly release: string;
  readonly started_at: string;
  /** Why the process is not ready, by check: `bus`, `store`, or the name of one of its services. */
  readonly problems: Readonly<Record<string, string>>;
  /** The shards of stacks that this process runs, in order. */
  readonly shards: readonly number[];
  /** The new forms that it can read; none in a document of an earlier release. */
  readonly reads?: readonly NewForm[];
}

/** The signs of life of all processes on this database. */
export const openReplicas = (store: Pick<Store, 'collection'>): Promise<Collection<ReplicaDocument>> =>
  store.collection<ReplicaDocument>({ name: 'runtime_replicas', indexes: [] });

/** Whether a process of this machine has ended. Another one may have got its number. */
const hasEnded = ({ machine, pid }: ReplicaDocument): boolean =>
  machine === hostname() && (pid === process.pid || !isRunning(pid));

interface ReplicaOptions {
  readonly store: Pick<Store, 'collection'>;
  readonly id: string;
  readonly services: readonly ServiceName[];
  readonly now: () => Date;
  /** Why the process is not ready, by check. Never rejects. */
  readonly problems: () => Promise<Readonly<Record<string, string>>>;
  /** Whether no other process can use the broker (R3). */
  readonly isAlone: boolean;
  readonly log: { debug(facts: object, text: string): void };
}

/** Writes the sign of life of this process. A write that fails is repeated by the next beat. */
export class Replica {
  readonly #documents: Collection<ReplicaDocument>;
  readonly #options: ReplicaOptions;
  readonly #startedAt: string;
  readonly #shards = new Set<number>();
  readonly #timer: NodeJS.Timeout;
  #writing: Promise<void> | undefined;
  #isStale = false;
  #isStopped = false;

  private constructor(documents: Collection<ReplicaDocument>, options: ReplicaOptions) {
    this.#documents = documents;
    this.#options = options;
    this.#startedAt = options.now().toISOString();
    this.#timer = setInterval(() => this.renew(), beatMs);
    this.#timer.unref();
  }

  static async open(options: ReplicaOptions): Promise<Replica> {
    const documents = await openReplicas(options.store);
    const others = await documents.find({ where: { id: { gt: '' } } });
    const ended = others.filter((each) => options.isAlone || hasEnded(each));
    await documents.bulk(ended.map(({ id, version }) => ({ kind: 'remove', id, version })));
    const replica = new Replica(documents, options);
    replica.renew();
    return replica;
  }

  /** Notes that this process became the active consumer of a queue, or ceased to be. */
  owns(queue: string, active: boolean): void {
    const shard = shardOfQueue(queue);
    if (shard === undefined) return;
    if (active) this.#shards.add(shard);
    else this.#shards.delete(shard);
    this.renew();
  }

  /** Writes the document soon. Changes that happen meanwhile are in one more write. */
  renew(): void {
    this.#isStale = true;
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
    });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    await this.#writing;
    await this.#documents.remove(this.#options.id);
  }

  async #write(): Promise<void> {
    const { id, services, problems, log } = this.#options;
    while (this.#isStale && !this.#isStopped) {
      this.#isStale = false;
      const found = await problems();
      const document = {
        id,
        services,
        machine: hostname(),
        pid: process.pid,
        release: manifest.version,
        started_at: this.#startedAt,
        problems: found,
        shards: [...this.#shards].sort((a, b) => a - b),
        reads: newForms,
      };
      try {
        await this.#documents.bulk([{ kind: 'put', document }]);
      } catch (error) {
        log.debug({ err: error }, 'sign of life of this process not written; retrying');
      }
    }
  }
}
