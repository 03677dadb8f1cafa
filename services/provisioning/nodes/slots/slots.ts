/**
 * Slots for deploys, cleans and erases, which limit how many nodes work at the same time.
 *
 * S1 One document holds the nodes that have a slot. A round reads it, then the nodes, and writes it over the version that it
 *    read, so rounds of several replicas never exceed a limit together.
 * S2 A slot belongs to a node as long as the node is in a state of its kind of work. The next round takes it from a node that is
 *    not, so no process has to live to give it back.
 * S3 A node that waits is in no document but its own: its step is `await slot`. Each round finds all that wait, so a
 *    restart changes no turn.
 * S4 Rounds take a small part of a processor: after each, the next waits ten times as long as it took. While nodes wait, a round
 *    follows every two seconds, because a slot may become free in another replica.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { faultPoint } from '@anneal/runtime/fault.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import { writeOver } from '@anneal/store/change.ts';
import type { Collection, Document } from '@anneal/store/port.ts';
import type { NodeState } from '@anneal/contracts/calls/nodes.ts';
import type { NodeDocument, SlotTurn } from '../../documents/node.ts';
import type { NodeRecords } from '../../documents/records.ts';
import { domainIn } from './place-rule.ts';
import { admission, type LimitsOfKinds, type SlotKind, type SlotUser } from './admission.ts';

interface SlotsDocument extends Document {
  readonly holders: readonly SlotUser[];
}

const everyMs = 2_000;
const documentId = 'slots';
const deployStates: readonly NodeState[] = ['deploying', 'deploy hold', 'wait call-back'];
const cleanStates: readonly NodeState[] = ['cleaning', 'clean hold'];
const slotStates: readonly NodeState[] = [...deployStates, ...cleanStates];

/** The kind of work of a node. A cleaning erases disks unless the operator gave it other steps. */
function kindOf({ state, plan }: NodeDocument): SlotKind | undefined {
  if (deployStates.includes(state)) return 'deploy';
  if (!cleanStates.includes(state)) return undefined;
  return !plan || plan.steps.some(({ step }) => step === 'erase_devices') ? 'erase' : 'clean';
}

const isWaiting = ({ work }: NodeDocument): boolean => work?.step === 'await slot';

export class Slots {
  readonly #collection: Collection<SlotsDocument>;
  readonly #records: NodeRecords;
  readonly #options: SlotsOptions;
  readonly #log: ServiceContext['log'];
  readonly #wake: (node: string) => void;
  #current: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;
  #queue: ReadonlyMap<string, SlotTurn> = new Map();
  #gapMs = 0;
  #endedAt = -Infinity;
  #again: NodeJS.Timeout | undefined;
  readonly #stopping = new AbortController();

  private constructor(options: SlotsOptions, collection: Collection<SlotsDocument>) {
    this.#collection = collection;
    this.#records = options.records;
    this.#options = options;
    this.#wake = options.wake;
    this.#log = options.context.log;
    options.records.onStateChange((after, before) => {
      const isFreed = slotStates.includes(before.state) && kindOf(after) !== kindOf(before);
      if (isFreed && this.#queue.size > 0) this.#roundSoon(0);
    });
  }

  static async open(options: SlotsOptions): Promise<Slots> {
    const definition = { name: 'provisioning_slots', indexes: [] };
    return new Slots(options, await options.context.store.collection<SlotsDocument>(definition));
  }

  /** No round begins after this. */
  stop(): void {
    this.#stopping.abort();
    clearTimeout(this.#again);
  }

  /** Undefined when the node has a slot; else its turn. A repeat asks again and takes no second slot. */
  async ask(node: string): Promise<SlotTurn | undefined> {
    await this.#round();
    return this.#queue.get(node);
  }

  /** The turns of those of these nodes that wait, for readers. */
  async turns(nodes: readonly NodeDocument[]): Promise<ReadonlyMap<string, SlotTurn>> {
    if (!nodes.some(isWaiting)) return new Map();
    if (performance.now() - this.#endedAt > everyMs) await this.#round();
    return this.#queue;
  }

  /** Resolves after a round that began after this call. All calls during one round share the next. */
  #round(): Promise<void> {
    this.#next ??= this.#current
      .catch(() => undefined)
      .then(async () => {
        const pause = this.#gapMs - (performance.now() - this.#endedAt);
        if (pause > 0) await sleep(pause, undefined, { signal: this.#stopping.signal, ref: false });
        this.#next = undefined;
        this.#current = this.#timed();
        return this.#current;
      });
    return this.#next;
  }

  /** S4 */
  async #timed(): Promise<void> {
    const begunAt = performance.now();
    try {
      await this.#admit();
    } finally {
      this.#endedAt = performance.now();
      this.#gapMs = Math.min(10 * (this.#endedAt - begunAt), everyMs);
      if (this.#queue.size > 0) this.#roundSoon(everyMs);
    }
  }

  #roundSoon(ms: number): void {
    clearTimeout(this.#again);
    if (this.#stopping.signal.aborted) return;
    this.#again = setTimeout(() => {
      this.#round().catch((error: unknown) => {
        if (this.#stopping.signal.aborted) return;
        this.#log.error({ err: error }, 'slots not given away; retrying in 2 s');
        this.#roundSoon(everyMs);
      });
    }, ms);
    this.#again.unref();
  }

  /** S1 */
  async #admit(): Promise<void> {
    for (;;) {
      const before = await this.#collection.get(documentId);
      const nodes = await this.#records.collection.find({ where: { state: { in: slotStates } } });
      const known = before?.holders ?? [];
      const origins = await this.#originsOf(nodes, known);
      const { holders, admitted, queue } = this.#decided(known, nodes, origins);
      if (admitted.length > 0 || holders.length !== (before?.holders.length ?? 0)) {
        const written = await writeOver(
          this.#collection,
          { id: documentId, holders: [...holders, ...admitted] },
          before,
        );
        if (!written) continue;
      }
      await faultPoint('provisioning.slots.given');
      this.#queue = queue;
      await Promise.all(admitted.map(({ node }) => this.#admitted(node)));
      return;
    }
  }

  /** Ends the pause of a node that got a slot. When this process dies before, the pause ends by itself. */
  async #admitted(id: string): Promise<void> {
    await this.#records.change(id, (node) =>
      node.work && isWaiting(node) && node.work.next_at > 0 ? { work: { ...node.work, next_at: 0 } } : undefined,
    );
    this.#wake(id);
  }

  /** The image servers of the nodes without a slot, by image. */
  async #originsOf(nodes: readonly NodeDocument[], known: readonly SlotUser[]): Promise<Origins> {
    const { limits, imageServer } = this.#options;
    if (limits.deploy.image_server === undefined) return new Map();
    const held = new Set(known.map(({ node }) => node));
    const names = nodes.flatMap((node) => (kindOf(node) === 'deploy' && !held.has(node.id) ? [imageOf(node)] : []));
    const found = await Promise.all([...new Set(names)].map(async (name) => [name, await imageServer(name)] as const));
    return new Map(found);
  }

  #decided(known: readonly SlotUser[], nodes: readonly NodeDocument[], origins: Origins) {
    const present = new Map(nodes.map((node) => [node.id, node]));
    // S2
    const holders = known.filter(({ node, kind }) => {
      const document = present.get(node);
      return document !== undefined && kindOf(document) === kind;
    });
    const held = new Set(holders.map(({ node }) => node));
    const users = nodes.flatMap((node) => {
      const kind = kindOf(node);
      return kind === undefined || held.has(node.id) ? [] : [{ node, user: userOf(node, { kind, origins }) }];
    });
    const waiting = users.flatMap(({ node, user }) =>
      isWaiting(node) ? [{ ...user, since: node.provision_updated_at }] : [],
    );
    // Nodes whose work began before there were slots count, so that a new version keeps to the limits.
    const begun = users.flatMap(({ node, user }) => (isWaiting(node) ? [] : [user]));
    const all = [...holders, ...begun];
    const { admitted, queue } = admission({ holders: all, waiting, limits: this.#options.limits });
    return { holders: all, admitted: admitted.map(({ since: _since, ...user }) => user), queue };
  }
}

export interface SlotsOptions {
  readonly context: Pick<ServiceContext, 'store' | 'log'>;
  readonly records: NodeRecords;
  readonly limits: LimitsOfKinds;
  /** The origin of the server that has the image. Undefined for an image without content. */
  readonly imageServer: (image: string) => Promise<string | undefined>;
  /** Continues the work of a node that got a slot. */
  readonly wake: (node: string) => void;
}

type Origins = ReadonlyMap<string, string | undefined>;

const imageOf = ({ instance_info: { image } }: NodeDocument): string => (typeof image === 'string' ? image : '');

function userOf(node: NodeDocument, { kind, origins }: { kind: SlotKind; origins: Origins }): SlotUser {
  const { project } = node.instance_info;
  const image_server = kind === 'deploy' ? origins.get(imageOf(node)) : undefined;
  return {
    node: node.id,
    kind,
    // A node that is erased has no server any more, so its erasure counts for no project.
    project: typeof project === 'string' ? project : '',
    rack: domainIn(node, 'rack'),
    power_domain: domainIn(node, 'power_domain'),
    ...(image_server !== undefined && { image_server }),
  };
}
