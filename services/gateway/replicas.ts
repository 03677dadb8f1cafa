/**
 * The processes of this server, as their signs of life show them (`libs/runtime/service/replica.ts`).
 *
 * W1 A process is silent when its document has not changed for 15 seconds by the clock of this gateway. Clocks of
 *    machines are never compared.
 * W2 Silence counts only while this gateway can read: after a pause of the gateway or the store, it counts from zero.
 * W3 The document of a process that was silent for five minutes is removed, unless the process has written since.
 */
import type { ServiceName } from '@anneal/contracts/queues.ts';
import type { NewForm, ReplicaDocument } from '@anneal/runtime/service/replica.ts';
import type { Collection } from '@anneal/store/port.ts';

const lookMs = 2_000;
const pauseMs = 10_000;
const silentMs = 15_000;
/** How long a silent process is still listed. */
export const goneMs = 300_000;

/** A process, and how long ago its document changed. */
export interface SeenReplica {
  readonly document: ReplicaDocument;
  readonly unheardMs: number;
  readonly isSilent: boolean;
}

/** Why the process does not run a service, by check. It may run several, and the problem of one of them concerns no other. */
export const problemsOf = (
  { document: { problems } }: SeenReplica,
  service: ServiceName,
): [check: string, why: string][] =>
  Object.entries(problems).filter(([check]) => ['bus', 'store', service].includes(check));

interface ReplicaWatchOptions {
  readonly documents: Pick<Collection<ReplicaDocument>, 'find' | 'remove'>;
  /** A clock that never jumps, in milliseconds. */
  readonly elapsed: () => number;
  readonly log: { debug(facts: object, text: string): void };
}

/** Watches the signs of life of all processes. */
export class ReplicaWatch {
  readonly #options: ReplicaWatchOptions;
  #seen: ReadonlyMap<string, { readonly document: ReplicaDocument; readonly at: number }> = new Map();
  #lookedAt = -Infinity;

  constructor(options: ReplicaWatchOptions) {
    this.#options = options;
  }

  /** Looks now and every two seconds, until the returned function is called. */
  watch(): () => void {
    const { log } = this.#options;
    let looking: Promise<void> | undefined;
    const look = (): void => {
      looking ??= this.look()
        .catch((error: unknown) => log.debug({ err: error }, 'signs of life of the processes not read; retrying'))
        .finally(() => {
          looking = undefined;
        });
    };
    look();
    const timer = setInterval(look, lookMs);
    timer.unref();
    return () => clearInterval(timer);
  }

  /** Reads all documents once, and removes those of W3. @throws AnnealError Unavailable while the store is away */
  async look(): Promise<void> {
    const { documents, elapsed } = this.#options;
    const found = await documents.find({ where: { id: { gt: '' } }, orderBy: ['id'] });
    const now = elapsed();
    const isPause = now - this.#lookedAt > pauseMs;
    this.#lookedAt = now;
    const seen = new Map<string, { document: ReplicaDocument; at: number }>();
    for (const document of found) {
      const known = this.#seen.get(document.id);
      const at = known?.document.version === document.version && !isPause ? known.at : now;
      if (now - at > goneMs && (await documents.remove(document.id, document.version))) continue;
      seen.set(document.id, { document, at });
    }
    this.#seen = seen;
  }

  /** A sentence about a service of which no process shows a sign of life; undefined for any other service. */
  silenceOf(service: ServiceName): string | undefined {
    const own = this.#processesOf(service);
    if (own.some(({ isSilent }) => !isSilent)) return undefined;
    if (own.length === 0) return 'No process of this service is running, or it has just started.';
    const latestMs = Math.min(...own.map(({ unheardMs }) => unheardMs));
    const who =
      own.length === 1 ? 'Its process has shown no sign' : `None of its ${own.length} processes has shown a sign`;
    return `${who} of life for ${Math.round(latestMs / 1000)} s: killed, hanging, or cut off from the database.`;
  }

  /** Whether every process of the service can read a form that earlier releases cannot. False when none is known. */
  allRead(service: ServiceName, form: NewForm): boolean {
    const own = this.#processesOf(service);
    return own.length > 0 && own.every(({ document }) => document.reads?.includes(form) === true);
  }

  /** The processes as last read, the earliest start first. */
  list(): SeenReplica[] {
    const now = this.#options.elapsed();
    return [...this.#seen.values()]
      .map(({ document, at }) => ({ document, unheardMs: now - at, isSilent: now - at > silentMs }))
      .sort((a, b) => (a.document.started_at < b.document.started_at ? -1 : 1));
  }

  #processesOf(service: ServiceName): SeenReplica[] {
    return this.list().filter(({ document }) => document.services.includes(service));
  }
}
