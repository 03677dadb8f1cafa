/**
 * The nodes in the store, and the events that report their changes.
 *
 * N1 A node is only written over the version that was read. A writer that lost reads and decides again.
 * N2 The event of a change is in the outbox of the node until it is published (`libs/runtime/work/outbox.ts`).
 * N3 No instance (a server, an allocation, that of a client) has two nodes, whichever processes claim one for it at the
 *    same time: `instance_claim` is unique.
 */
import { type Failure, hasCode } from '@anneal/contracts/errors.ts';
import { nodeEvent, type NodeEventData, type NodeProgressData } from '@anneal/contracts/events.ts';
import { phaseText, progressText, type NodeProgress } from '@anneal/contracts/node-progress.ts';
import { nodeStates, type NodeHistoryEntry } from '@anneal/contracts/calls/nodes.ts';
import { faultPoint } from '@anneal/runtime/fault.ts';
import { countEach } from '@anneal/runtime/observe/service-metrics.ts';
import { flushOutbox, keepSending, unsentIn, type Outgoing } from '@anneal/runtime/work/outbox.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import { change } from '@anneal/store/change.ts';
import { DuplicateError, type Collection, type CollectionDefinition, type Draft } from '@anneal/store/port.ts';
import {
  claimsOf,
  machineClaimsOf,
  merged as mergedIdentity,
  nodeFaults,
  type Claims,
  type Identity,
} from './identity.ts';
import { sameMachine } from './faults.ts';
import { afterLoss, isSuspected, suspectConditions } from './suspicion.ts';
import { missingClaims } from './claims.ts';
import { faultError, faultReason, originOfNode, powerReason } from './event-reason.ts';
import {
  nodeProgressOf,
  nodesDefinition,
  statementText,
  unclaimedDefinition,
  type NodeDocument,
  type NodeChange,
} from './node.ts';

/** An event in the form of earlier versions. */
interface EarlierEntry {
  readonly id: string;
  readonly kind: keyof typeof definitions;
  readonly data: NodeEventData;
}

const definitions = {
  enrolled: nodeEvent.enrolled,
  state: nodeEvent.stateChanged,
  power: nodeEvent.powerChanged,
  'boot refused': nodeEvent.bootRefused,
  'off confirmed': nodeEvent.offConfirmed,
  suspect: nodeEvent.suspectChanged,
  fault: nodeEvent.faultChanged,
  progress: nodeEvent.progress,
  removed: nodeEvent.removed,
} as const;

const suspicionText = (node: NodeDocument): string =>
  suspectConditions(node)[0]?.message ?? 'a person cleared the suspicion';

const pageSize = 250;
/** The length of the history of a node. */
const mostLines = 30;

export class NodeRecords {
  readonly collection: Collection<NodeDocument>;
  readonly #context: ServiceContext;
  readonly #lossesADay: number;
  /** The driver, the poll and the requests change a node at the same time. */
  readonly #sender: Pick<ServiceContext, 'bus' | 'log'> & { readonly sent: Set<string> };
  /** Callbacks for every change of state. */
  readonly #watchers = new Set<(after: NodeDocument, before: NodeDocument) => void>();

  private constructor(context: ServiceContext, collection: Collection<NodeDocument>, lossesADay: number) {
    this.#lossesADay = lossesADay;
    this.#context = context;
    this.#sender = { bus: context.bus, log: context.log, sent: new Set() };
    this.collection = collection;
  }

  /**
   * Gives claims to the nodes of older versions first. `placeholders`: see `identityIn`. `lossesADay`: a machine with more gets
   * no server.
   */
  static async open(
    context: ServiceContext,
    { placeholders = new Set(), lossesADay = 3 }: { placeholders?: ReadonlySet<string>; lossesADay?: number } = {},
  ): Promise<NodeRecords> {
    const opened = async (definition: CollectionDefinition): Promise<NodeRecords> => {
      const records = new NodeRecords(context, await context.store.collection<NodeDocument>(definition), lossesADay);
      await records.#convertOutboxes();
      return records;
    };
    try {
      const records = await opened(nodesDefinition);
      await records.#claimAll(placeholders);
      return records;
    } catch (error) {
      // Absent claims are equal to each other, so the documents contradict the unique indexes.
      if (!hasCode(error, 'Conflict')) throw error;
    }
    await (await opened(unclaimedDefinition)).#claimAll(placeholders);
    return opened(nodesDefinition);
  }

  /** Another replica may do the same at the same time. It decides the same, and one of the two writes of a node counts. */
  async #claimAll(placeholders: ReadonlySet<string>): Promise<void> {
    const now = this.#context.now().toISOString();
    for (const { node, change: claims } of missingClaims(await this.all(), { placeholders, now })) {
      await this.replace(node as NodeDocument, claims);
      if (claims.fault === undefined) continue;
      this.#context.log.error({ node: node.name, err: claims.last_error }, 'node is the same machine as another node');
    }
  }

  onStateChange(watch: (after: NodeDocument, before: NodeDocument) => void): void {
    this.#watchers.add(watch);
  }

  get(id: string): Promise<NodeDocument | undefined> {
    return this.collection.get(id);
  }

  async find(idOrName: string): Promise<NodeDocument | undefined> {
    return (
      (await this.collection.get(idOrName)) ?? (await this.collection.find({ where: { name: idOrName }, limit: 1 }))[0]
    );
  }

  all(): Promise<NodeDocument[]> {
    return this.collection.find({ where: {}, orderBy: ['name'] });
  }

  /** All nodes by id, a page at a time, so that few of them are in memory at once. */
  async *pages(): AsyncGenerator<readonly NodeDocument[]> {
    for (let last = ''; ;) {
      const page = await this.collection.find({ where: { id: { gt: last } }, orderBy: ['id'], limit: pageSize });
      if (page.length > 0) yield page;
      if (page.length < pageSize) return;
      last = page.at(-1)?.id ?? '';
    }
  }

  /** Counts by the index of the state. */
  async countByState(): Promise<ReadonlyMap<string, number>> {
    const counts = await countEach(nodeStates, (state) => this.collection.count({ state }));
    return new Map([...counts].filter(([, count]) => count > 0));
  }

  /** Counts by the index of the fault, which holds only nodes with one. */
  countByFault(): Promise<ReadonlyMap<string, number>> {
    return countEach(nodeFaults, (fault) => this.collection.count({ fault }));
  }

  /** The node that a server has. */
  async ofInstance(instanceId: string): Promise<NodeDocument | undefined> {
    return (await this.collection.find({ where: { instance_id: instanceId }, limit: 1 }))[0];
  }

  async ofSecret(hash: string): Promise<NodeDocument | undefined> {
    return (await this.collection.find({ where: { 'boot.secret_hash': hash }, limit: 1 }))[0];
  }

  /** @param uuid in lower case. Some firmware reports the first half with its bytes swapped. */
  async ofUuid(uuid: string): Promise<NodeDocument | undefined> {
    for (const claim of machineClaimsOf(uuid)) {
      const [node] = await this.collection.find({ where: { 'claims.machine': claim }, limit: 1 });
      if (node) return node;
    }
    return undefined;
  }

  /** The node that boots and reports with this token. */
  async ofReportToken(hash: string): Promise<NodeDocument | undefined> {
    return (await this.collection.find({ where: { 'boot.token_hash': hash }, limit: 1 }))[0];
  }

  async insert(draft: Draft<NodeDocument>): Promise<NodeDocument> {
    const entry = this.#entry('enrolled', { ...draft, version: 1 }, { failure: draft.last_error });
    const instance_claim = draft.instance_id ?? draft.id;
    const inserted = await this.collection.insert({ ...draft, instance_claim, outbox: [entry], unsent: true });
    await flushOutbox(this.#sender, this.collection, inserted);
    return inserted;
  }

  /** N1. `decide` returns the change, or undefined for none. Then this returns undefined too. */
  async change(id: string, decide: (node: NodeDocument) => NodeChange | undefined): Promise<NodeDocument | undefined> {
    let before: NodeDocument | undefined;
    const { document, changed } = await change(this.collection, id, (current) => {
      before = current;
      const fields = decide(current);
      return fields && this.#changed(current, fields);
    });
    if (!changed || !before || !document) return undefined;
    await this.#report(before, document);
    return document;
  }

  /**
   * Changes a node that an instance gets. N3: returns the node that the instance has already, when another process was
   * first.
   */
  async claim(
    id: string,
    instance: string,
    decide: (node: NodeDocument) => NodeChange | undefined,
  ): Promise<NodeDocument | undefined> {
    try {
      return await this.change(id, decide);
    } catch (error) {
      if (!(error instanceof DuplicateError)) throw error;
      return this.ofInstance(instance);
    }
  }

  /**
   * Records the machine that answers for the node, over the work that read it.
   * @throws AnnealError AlreadyExists when it is the machine of another node.
   */
  async learn(seen: NodeDocument, found: Identity): Promise<void> {
    const identity = mergedIdentity(seen.identity, found);
    const claims = claimsOf({ ...seen, identity });
    const same = await this.#sameSerial(seen.id, identity, claims);
    if (same) throw sameMachine(seen.name, same, identity);
    try {
      await this.change(seen.id, (current) => (current.work?.id === seen.work?.id ? { identity, claims } : undefined));
    } catch (error) {
      if (!(error instanceof DuplicateError)) throw error;
      throw sameMachine(seen.name, await this.holderOf(claims, seen.id), identity);
    }
  }

  /** The other node that has one of these claims. */
  async holderOf(claims: Claims, id: string): Promise<NodeDocument | undefined> {
    for (const name of ['machine', 'place', 'given'] as const) {
      const [holder] = await this.collection.find({ where: { [`claims.${name}`]: claims[name] }, limit: 1 });
      if (holder && holder.id !== id) return holder;
    }
    return undefined;
  }

  /** Finds a node with the same serial number, which decides only when one of the two has no UUID. */
  async #sameSerial(id: string, identity: Identity, { serial }: Claims): Promise<NodeDocument | undefined> {
    if (serial === null) return undefined;
    const others = await this.collection.find({ where: { 'claims.serial': serial } });
    return others.find(
      (other) => other.id !== id && (identity.uuid === null || (other.identity?.uuid ?? null) === null),
    );
  }

  /** Tries once to replace the given version. Undefined when the version has changed. */
  async replace(current: NodeDocument, fields: NodeChange): Promise<NodeDocument | undefined> {
    const replaced = await this.collection.replace(this.#changed(current, fields), current.version);
    if (replaced) await this.#report(current, replaced);
    return replaced;
  }

  /** The node with the fields, and N2 the events of the change in its outbox. */
  #changed(current: NodeDocument, fields: NodeChange): Draft<NodeDocument> {
    const at = this.#context.now();
    const now = at.toISOString();
    const moved = fields.state !== undefined && fields.state !== current.state;
    const { instance_id: instance } = fields;
    const wanted: NodeDocument = {
      ...current,
      ...(fields.power === 'power on' && { confirmed_off: null }),
      ...fields,
      // N3
      instance_claim: instance === undefined ? (current.instance_claim ?? current.id) : (instance ?? current.id),
      // A reading of the power that finds no change does not change the node.
      updated_at: Object.keys(fields).every((name) => name === 'poll') ? current.updated_at : now,
      provision_updated_at: moved ? now : current.provision_updated_at,
      version: current.version + 1,
    };
    const loss = afterLoss(current, wanted, { at, most: this.#lossesADay });
    const merged: NodeDocument = { ...wanted, ...loss };
    const entries = unsentIn(current, this.#sender.sent);
    const failure = fields.last_error ?? null;
    const passage = moved ? this.#entry('state', merged, { before: current, failure }) : undefined;
    if (passage) entries.push(passage);
    const refused = merged.boot?.refused_at;
    if (refused !== undefined && refused !== null && refused !== current.boot?.refused_at)
      entries.push(this.#entry('boot refused', { ...merged, reason: refusalIn(merged) }, { noticed: true }));
    if (merged.fault !== current.fault)
      entries.push(
        this.#entry(
          'fault',
          { ...merged, reason: faultReason(current, merged) },
          { failure: faultError(merged), noticed: true },
        ),
      );
    if (isSuspected(merged) ? loss : isSuspected(current))
      entries.push(
        this.#entry('suspect', { ...merged, reason: suspicionText(merged) }, { noticed: loss !== undefined }),
      );
    const { heartbeat } = merged.boot ?? {};
    const progress = nodeProgressOf(merged);
    if (progress && heartbeat?.published_at !== current.boot?.heartbeat?.published_at) {
      const reason = `${phaseText(progress)}: ${progressText(progress)}`;
      entries.push(this.#entry('progress', { ...merged, reason }, { progress }));
    }
    const { confirmed_off: stated } = merged;
    if (stated && stated.at !== current.confirmed_off?.at)
      entries.push(this.#entry('off confirmed', { ...merged, reason: statementText(stated) }));
    if (merged.power !== current.power) {
      const reported = { ...merged, reason: powerReason(current, merged) };
      entries.push(this.#entry('power', reported, { before: current, noticed: current.work === null }));
    }
    const { version: _version, ...draft } = merged;
    const history = passage
      ? { history: [...(current.history ?? []), lineOf(passage, current)].slice(-mostLines) }
      : {};
    return { ...draft, ...history, outbox: entries, unsent: entries.length > 0 };
  }

  /** Publishes the events of a stored change and calls the watchers. */
  async #report(before: NodeDocument, after: NodeDocument): Promise<void> {
    await faultPoint('provisioning.node.written');
    await flushOutbox(this.#sender, this.collection, after);
    if (after.state !== before.state) for (const watch of this.#watchers) watch(after, before);
  }

  async remove(node: NodeDocument): Promise<boolean> {
    if (!(await this.collection.remove(node.id, node.version))) return false;
    await this.#context.bus.publish([this.#entry('removed', { ...node, reason: 'removed' }).message]);
    return true;
  }

  /** Publishes what a crash or an outage of the broker left, at the start and from then on. */
  async keepPublishing(): Promise<{ stop(): Promise<void> }> {
    const left = await this.collection.find({ where: { unsent: true } });
    for (const node of left) await flushOutbox(this.#sender, this.collection, node);
    return keepSending({ service: this.#sender, collection: this.collection });
  }

  #entry(
    kind: EarlierEntry['kind'],
    node: NodeDocument,
    {
      before,
      failure = null,
      noticed = false,
      progress,
    }: { before?: NodeDocument; failure?: Failure | null; noticed?: boolean; progress?: NodeProgress } = {},
  ): Outgoing {
    const data: NodeProgressData = {
      origin: originOfNode(before, node, { reason: node.reason, noticed }),
      node_id: node.id,
      name: node.name,
      provision_state: node.state,
      power_state: node.power,
      instance_id: node.instance_id,
      fault: node.fault,
      reason: node.reason,
      version: node.version,
      ...(failure && { failure }),
      ...(progress && { progress }),
    };
    return this.#event(node, { id: this.#context.newId(), kind, data });
  }

  #event(node: NodeDocument, { id, kind, data }: EarlierEntry): Outgoing {
    const project = node.instance_info['project'];
    const about = { id, subject: node.id, data, ...(typeof project === 'string' && { project }) };
    return { queue: null, message: this.#context.mint(definitions[kind], about) };
  }

  /** Documents of earlier versions have events in another form, and no mark by which they are found. */
  async #convertOutboxes(): Promise<void> {
    for (const node of await this.all()) {
      const { version, ...draft } = node;
      const earlier = node.outbox as unknown as readonly (EarlierEntry | Outgoing)[];
      if (!earlier.some((entry) => 'kind' in entry)) continue;
      const outbox = earlier.map((entry) => ('kind' in entry ? this.#event(node, entry) : entry));
      // Another replica that writes first converts it as well.
      await this.collection.replace({ ...draft, outbox, unsent: true }, version);
    }
  }
}

/** The change of state that an event reports. */
function lineOf({ message }: Outgoing, before: NodeDocument): NodeHistoryEntry {
  const { id, time } = message;
  const { origin, provision_state: to, reason, failure } = message.data as NodeEventData;
  const { kind, id: cause } = origin.cause;
  return {
    id,
    at: time,
    from: before.state,
    to,
    reason,
    failed: failure !== undefined,
    actor: origin.actor.name ?? origin.actor.kind,
    cause: cause ? `${kind} ${cause}` : kind,
  };
}

const refusalIn = (node: NodeDocument): string =>
  node.warnings?.find(({ type }) => type === 'CredentialsSafe')?.message ?? node.reason;
