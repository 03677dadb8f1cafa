/**
 * Allocations: a client reserves a node by its wishes, without a server of a stack.
 *
 * L1 The node names its allocation, and is the truth: an allocation is active when a node names it. A process that dies between the two
 *    writes leaves an allocation that the next start completes.
 * L2 An allocation ends with the end of the use of its node.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import {
  allocationFieldsSchema,
  type allocationChange,
  type allocationCreate,
  type allocationList,
  type allocationRemove,
  type AllocationView,
} from '@anneal/contracts/calls/allocations.ts';
import { allocationEvent } from '@anneal/contracts/events.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { patched } from '@anneal/contracts/json-patch.ts';
import { noPlace, systemOccasion, type Occasion } from '@anneal/contracts/origin.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import { flushOutbox, keepSending, type Outgoing, type WithOutbox } from '@anneal/runtime/work/outbox.ts';
import { SingleFlight } from '@anneal/runtime/work/serial.ts';
import { change } from '@anneal/store/change.ts';
import { DuplicateError, type Collection, type Draft } from '@anneal/store/port.ts';
import type { z } from 'zod';
import type { NodeChange, NodeDocument } from '../documents/node.ts';
import type { NodeRecords } from '../documents/records.ts';
import { place } from '../servers/placement.ts';

type Question<T extends { data: z.ZodType }> = z.output<T['data']>;

interface AllocationDocument extends WithOutbox, Omit<AllocationView, 'id' | 'version'> {
  /** The name, or the id: unique. */
  readonly name_key: string;
  /** The time and the id: the order of lists. */
  readonly order: string;
}

const patchable = { names: ['name', 'extra'], defaults: { name: null, extra: {} } } as const;

export class Allocations {
  readonly #context: ServiceContext;
  readonly #collection: Collection<AllocationDocument>;
  readonly #records: NodeRecords;
  readonly #flights: SingleFlight;

  private constructor(context: ServiceContext, collection: Collection<AllocationDocument>, records: NodeRecords) {
    this.#context = context;
    this.#collection = collection;
    this.#records = records;
    this.#flights = new SingleFlight({
      run: (id) => this.#process(id),
      onError: (error, id) => context.log.error({ err: error, allocation: id }, 'allocation not processed; retrying'),
    });
  }

  static async open(context: ServiceContext, records: NodeRecords): Promise<Allocations> {
    const collection = await context.store.collection<AllocationDocument>({
      name: 'provisioning_allocations',
      indexes: [
        { fields: ['name_key'], unique: true },
        { fields: ['order'] },
        { fields: ['state', 'order'] },
        { fields: ['unsent'], only: { field: 'unsent', is: true } },
      ],
    });
    const allocations = new Allocations(context, collection, records);
    records.onStateChange((after, before) => {
      const ended = before.allocation_id;
      if (ended && after.allocation_id !== ended) allocations.#flights.kick(ended);
    });
    return allocations;
  }

  /** L1, L2: completes what a dead process left. */
  async resumeAll(): Promise<void> {
    for (const state of ['allocating', 'active'] as const)
      for (const { id } of await this.#collection.find({ where: { state } })) this.#flights.kick(id);
  }

  async keepPublishing(): Promise<{ stop(): Promise<void> }> {
    for (const each of await this.#collection.find({ where: { unsent: true } }))
      await flushOutbox(this.#context, this.#collection, each);
    return keepSending({ service: this.#context, collection: this.#collection });
  }

  stop(): Promise<void> {
    return this.#flights.stop();
  }

  /** @throws AnnealError InvalidRequest for unknown nodes; AlreadyExists for a name that is taken. */
  async create({ id, node: held, occasion, ...fields }: Question<typeof allocationCreate>): Promise<AllocationView> {
    const node = held === undefined ? undefined : await this.#holdable(held, fields);
    const resource_class = fields.resource_class ?? node?.resource_class ?? null;
    if (resource_class === null)
      throw invalid('resource_class', 'The resource_class field is mandatory when not backfilling.');
    const candidate_nodes = await this.#idsOf(node ? [node.id] : fields.candidate_nodes);
    const now = this.#context.now().toISOString();
    const draft: Draft<AllocationDocument> = {
      ...fields,
      id,
      resource_class,
      candidate_nodes: node ? [] : candidate_nodes,
      state: 'allocating',
      node_id: null,
      last_error: null,
      name_key: fields.name === null ? `id ${id}` : `name ${fields.name}`,
      order: `${now} ${id}`,
      created_at: now,
      updated_at: null,
      outbox: [],
      unsent: true,
    };
    const made = await this.#insert(draft, occasion);
    if (node) return viewOf(await this.#hold(made, node.id));
    this.#flights.kick(id);
    return viewOf(made);
  }

  async list({ marker, limit = 1000 }: Question<typeof allocationList>): Promise<{ allocations: AllocationView[] }> {
    const after = marker === undefined ? '' : (await this.#find(marker)).order;
    const found = await this.#collection.find({ where: { order: { gt: after } }, orderBy: ['order'], limit });
    return { allocations: found.map(viewOf) };
  }

  async show(idOrName: string): Promise<AllocationView> {
    return viewOf(await this.#find(idOrName));
  }

  /** @throws AnnealError InvalidRequest that names every mistake. */
  async change({ allocation, patch }: Question<typeof allocationChange>): Promise<AllocationView> {
    const found = await this.#find(allocation);
    try {
      const { document } = await change(this.#collection, found, (current) => {
        const before: JsonObject = { name: current.name, extra: current.extra };
        const { result, mistakes } = patched(before, patch, patchable);
        const parsed = allocationFieldsSchema.pick({ name: true, extra: true }).safeParse(result);
        for (const { path, message } of parsed.error?.issues ?? [])
          mistakes.push({ code: 'invalid_value', path: path.join('.'), message });
        if (!parsed.success || mistakes.length > 0) {
          const all = mistakes.map(({ path, message }) => `${path}: ${message}`).join('; ');
          throw new AnnealError('InvalidRequest', `The allocation cannot be changed in this way: ${all}`, { mistakes });
        }
        const { name, extra } = parsed.data;
        const name_key = name === null ? `id ${current.id}` : `name ${name}`;
        return { ...current, name, extra, name_key, updated_at: this.#context.now().toISOString() };
      });
      if (document) return viewOf(document);
    } catch (error) {
      throw takenName(error, 'that is asked for');
    }
    throw missing(allocation);
  }

  /** @throws AnnealError Conflict while its node is in use. */
  async remove({ allocation, occasion }: Question<typeof allocationRemove>): Promise<void> {
    const { id, node_id } = await this.#find(allocation);
    if (node_id !== null)
      await this.#records.change(node_id, (node) => {
        if (node.allocation_id !== id) return undefined;
        if (node.state !== 'available' && !node.maintenance)
          throw new AnnealError(
            'Conflict',
            `Cannot remove allocation ${allocation} because its node ${node.name} is ${node.state}. Release the node first (the verb "deleted"), or set it in maintenance.`,
          );
        return releasedFrom(node);
      });
    await this.#drop(id, 'removed', occasion);
  }

  async #insert(draft: Draft<AllocationDocument>, occasion: Occasion | undefined): Promise<AllocationDocument> {
    const outbox = [this.#event('created', { ...draft, version: 1 }, { occasion, reason: 'a node is wanted' })];
    try {
      return await flushOutbox(this.#context, this.#collection, await this.#collection.insert({ ...draft, outbox }));
    } catch (error) {
      throw takenName(error, draft.name ?? draft.id);
    }
  }

  /** Finds a node for the allocation, or its end. */
  async #process(id: string): Promise<void> {
    const allocation = await this.#collection.get(id);
    if (!allocation || allocation.state === 'error') return;
    const held = await this.#records.ofInstance(id);
    if (allocation.state === 'active') {
      if (!held) await this.#drop(id, 'the use of its node has ended');
      return;
    }
    if (held) return void (await this.#settle(id, { state: 'active', node_id: held.id }));
    const all = await this.#records.all();
    const wanted = all.filter(
      ({ id: node }) => allocation.candidate_nodes.length === 0 || allocation.candidate_nodes.includes(node),
    );
    const { resource_class, traits, owner } = allocation;
    const wish = {
      flavor: resource_class ?? '',
      project: owner ?? '',
      zone: '',
      root: null,
      traits,
      capabilities: {},
      node: undefined,
      anyDriver: true,
    };
    const placement = place(wish, { all: wanted, flavors: {} });
    for (const node of placement.nodes) {
      const claimed = await this.#records.claim(node.id, id, (current) =>
        place(wish, { all: [current], flavors: {} }).nodes.length === 0 ? undefined : heldBy(allocation, current),
      );
      if (claimed?.allocation_id === id) return void (await this.#settle(id, { state: 'active', node_id: claimed.id }));
    }
    const why = 'why' in placement ? placement.why : 'others took every node that fits';
    await this.#settle(id, { state: 'error', last_error: `Failed to process allocation ${id}: ${why}.` });
  }

  /** A node in use that no other allocation holds. @throws AnnealError InvalidRequest, NotSupported. */
  async #holdable(idOrName: string, { resource_class, traits }: Pick<AllocationView, 'resource_class' | 'traits'>) {
    const node = await this.#records.find(idOrName);
    if (!node) throw invalid('node', `Node ${idOrName} could not be found.`);
    if (resource_class !== null && resource_class !== node.resource_class)
      throw invalid(
        'resource_class',
        `Node ${node.name} has the resource class ${node.resource_class}, not ${resource_class}.`,
      );
    const lacking = traits.filter((trait) => !node.traits.includes(trait));
    if (lacking.length > 0) throw invalid('traits', `Node ${node.name} lacks the traits ${lacking.join(', ')}.`);
    if (node.state === 'active' && node.instance_id === null) return node;
    const has = node.instance_id === null ? `is ${node.state}` : `belongs to instance ${node.instance_id}`;
    // Not a conflict, because clients repeat a request that was answered with 409.
    throw new AnnealError('NotSupported', `Node ${node.name} cannot be recorded as allocated: it ${has}.`);
  }

  async #hold(allocation: AllocationDocument, node: string): Promise<AllocationDocument> {
    const held = await this.#records.claim(node, allocation.id, (current) =>
      current.instance_id === null ? heldBy(allocation, current) : undefined,
    );
    if (held?.allocation_id === allocation.id)
      return (await this.#settle(allocation.id, { state: 'active', node_id: held.id })) ?? allocation;
    await this.#drop(allocation.id, 'its node is held by others');
    throw new AnnealError('Conflict', `Node ${held?.name ?? node} belongs to another instance by now.`);
  }

  async #settle(
    id: string,
    fields: Partial<Pick<AllocationDocument, 'state' | 'node_id' | 'last_error'>>,
  ): Promise<AllocationDocument | undefined> {
    const { document } = await change(this.#collection, id, (current) => {
      const merged = { ...current, ...fields, updated_at: this.#context.now().toISOString() };
      const reason = fields.last_error ?? 'it has a node';
      const event = this.#event('changed', { ...merged, version: current.version + 1 }, { reason });
      return { ...merged, outbox: [...current.outbox, event], unsent: true };
    });
    if (document) return flushOutbox(this.#context, this.#collection, document);
    // It was removed meanwhile, so nothing holds the node.
    const node = await this.#records.ofInstance(id);
    if (node)
      await this.#records.change(node.id, (current) =>
        current.allocation_id === id ? releasedFrom(current) : undefined,
      );
    return undefined;
  }

  async #drop(id: string, reason: string, occasion?: Occasion): Promise<void> {
    for (;;) {
      const found = await this.#collection.get(id);
      if (!found) return;
      if (!(await this.#collection.remove(id, found.version))) continue;
      await this.#context.bus.publish([this.#event('removed', found, { occasion, reason }).message]);
      return;
    }
  }

  async #idsOf(nodes: readonly string[]): Promise<string[]> {
    const found = await Promise.all(nodes.map(async (each) => ({ each, node: await this.#records.find(each) })));
    const unknown = found.filter(({ node }) => !node).map(({ each }) => each);
    if (unknown.length > 0) throw invalid('candidate_nodes', `Nodes cannot be found: ${unknown.join(', ')}.`);
    return found.flatMap(({ node }) => (node ? [node.id] : []));
  }

  async #find(idOrName: string): Promise<AllocationDocument> {
    const byId = await this.#collection.get(idOrName);
    const found = byId ?? (await this.#collection.find({ where: { name_key: `name ${idOrName}` }, limit: 1 }))[0];
    if (found) return found;
    throw missing(idOrName);
  }

  #event(
    what: keyof typeof allocationEvent,
    allocation: AllocationDocument,
    { occasion = systemOccasion(), reason }: { occasion?: Occasion | undefined; reason: string },
  ): Outgoing {
    const { id, name, state, node_id, version } = allocation;
    const data = { origin: { ...noPlace, ...occasion }, allocation_id: id, name, state, node_id, reason, version };
    return { queue: null, message: this.#context.mint(allocationEvent[what], { subject: id, data }) };
  }
}

/** The node names the traits that were asked for, as in Ironic: a client reads there what it may deploy with. */
const heldBy = ({ id, traits }: AllocationDocument, { instance_notes: notes }: NodeDocument): NodeChange => ({
  instance_id: id,
  allocation_id: id,
  reserved: true,
  ...(traits.length > 0 && { instance_notes: { ...notes, traits: [...traits] } }),
});

function releasedFrom({ instance_notes: given = {} }: NodeDocument): NodeChange {
  const { traits: _, ...notes } = given;
  return { instance_id: null, allocation_id: null, reserved: false, instance_notes: notes };
}

const viewOf = ({
  name_key: _key,
  order: _order,
  outbox: _outbox,
  unsent: _unsent,
  ...view
}: AllocationDocument): AllocationView => view;

const invalid = (path: string, message: string): AnnealError =>
  new AnnealError('InvalidRequest', message, { mistakes: [{ code: 'invalid_value', path, message }] });

const missing = (allocation: string): AnnealError =>
  new AnnealError('NotFound', `Allocation ${allocation} could not be found.`);

const takenName = (error: unknown, name: string): unknown =>
  error instanceof DuplicateError
    ? new AnnealError('AlreadyExists', `An allocation with the name or id ${name} already exists.`, { cause: error })
    : error;
