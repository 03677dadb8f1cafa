/**
 * Assets: chassis, ports, port groups, volume connectors and targets.
 *
 * A1 `key` is the value that only one asset of a kind may have (a MAC address, a boot index of a node), and `name_key` its name. Both are
 *    the id where an asset has none.
 * A2 The event of a change is in the outbox of the asset until it is published.
 */
import { safeParseExact } from '@anneal/contracts/exact-schema.ts';
import { AnnealError, type Mistake } from '@anneal/contracts/errors.ts';
import {
  assetSchemas,
  type assetChange,
  type assetCreate,
  type AssetKind,
  type assetList,
  type assetRemove,
  type AssetView,
} from '@anneal/contracts/calls/assets.ts';
import type { NodePatch } from '@anneal/contracts/calls/nodes.ts';
import { assetEvent } from '@anneal/contracts/events.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { patched } from '@anneal/contracts/json-patch.ts';
import { readMac } from '@anneal/contracts/readers/mac.ts';
import { noPlace, systemOccasion, type Occasion } from '@anneal/contracts/origin.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import { flushOutbox, keepSending, type Outgoing, type WithOutbox } from '@anneal/runtime/work/outbox.ts';
import { change } from '@anneal/store/change.ts';
import { DuplicateError, type Collection, type Draft } from '@anneal/store/port.ts';
import type { z } from 'zod';
import type { NodeDocument } from '../documents/node.ts';
import type { NodeRecords } from '../documents/records.ts';
import type { PortClaims } from './port-claims.ts';
import { assetsDefinition, defaultsOf, duplicateText, uniqueKeyOf, assetNameOf, whyNotNow } from './rules.ts';

type Question<T extends { data: z.ZodType }> = z.output<T['data']>;

interface AssetDocument extends WithOutbox, Omit<AssetView, 'id' | 'version'> {
  /** A1 */
  readonly key: string;
  readonly name_key: string;
  /** The time and the id: the order of lists. */
  readonly order: string;
}

export class Assets {
  readonly #context: ServiceContext;
  readonly #collection: Collection<AssetDocument>;
  readonly #records: NodeRecords;

  readonly #claims: PortClaims;

  private constructor(options: {
    context: ServiceContext;
    collection: Collection<AssetDocument>;
    records: NodeRecords;
    claims: PortClaims;
  }) {
    this.#context = options.context;
    this.#collection = options.collection;
    this.#records = options.records;
    this.#claims = options.claims;
  }

  static async open(context: ServiceContext, records: NodeRecords, claims: PortClaims): Promise<Assets> {
    const collection = await context.store.collection<AssetDocument>(assetsDefinition);
    return new Assets({ context, collection, records, claims });
  }

  /** Publishes what a crash or an outage of the broker left, at the start and from then on. */
  async keepPublishing(): Promise<{ stop(): Promise<void> }> {
    for (const asset of await this.#collection.find({ where: { unsent: true } }))
      await flushOutbox(this.#context, this.#collection, asset);
    return keepSending({ service: this.#context, collection: this.#collection });
  }

  /** @throws AnnealError InvalidRequest that names every mistake; AlreadyExists. */
  async create({ id, kind, fields: given, occasion }: Question<typeof assetCreate>): Promise<AssetView> {
    const fields = checked(kind, given, []);
    await this.#requirePlace(kind, id, fields);
    const now = this.#context.now().toISOString();
    const draft: Draft<AssetDocument> = {
      ...placed(kind, id, fields),
      created_at: now,
      updated_at: null,
      order: `${now} ${id}`,
      outbox: [],
      unsent: true,
    };
    const made = { ...draft, version: 1 };
    try {
      const outbox = [this.#event('created', made, { occasion })];
      return viewOf(
        await flushOutbox(this.#context, this.#collection, await this.#collection.insert({ ...draft, outbox })),
      );
    } catch (error) {
      throw taken(error, { kind, id, fields });
    }
  }

  async list({
    kind,
    node,
    address,
    marker,
    limit = 1000,
  }: Question<typeof assetList>): Promise<{ assets: AssetView[] }> {
    const after = marker === undefined ? undefined : (await this.#find(kind, marker)).order;
    const owner = node === undefined ? undefined : await this.#node(node);
    if (address !== undefined) {
      const key = `${kind} ${readMac(address) ?? address}`;
      const found = await this.#collection.find({ where: { key }, limit: 1 });
      const fits = found.filter((each) => owner === undefined || each.node_id === owner.id);
      return { assets: fits.filter(({ order }) => after === undefined || order > after).map(viewOf) };
    }
    const found = await this.#collection.find({
      where: { ...(owner && { node_id: owner.id }), kind, ...(after !== undefined && { order: { gt: after } }) },
      orderBy: ['order'],
      limit,
    });
    return { assets: found.map(viewOf) };
  }

  async show({ kind, asset }: { kind: AssetKind; asset: string }): Promise<AssetView> {
    return viewOf(await this.#find(kind, asset));
  }

  async change({ kind, asset, patch, occasion }: Question<typeof assetChange>): Promise<AssetView> {
    const found = await this.#find(kind, asset);
    await this.#requireOff(found, 'update');
    const fields = afterPatch(found, patch);
    await this.#requirePlace(kind, found.id, fields);
    try {
      const { document } = await change(this.#collection, found, (current) => {
        const updated_at = this.#context.now().toISOString();
        const merged = { ...current, ...placed(kind, current.id, afterPatch(current, patch)), updated_at };
        const event = this.#event('changed', { ...merged, version: current.version + 1 }, { occasion });
        return { ...merged, outbox: [...current.outbox, event], unsent: true };
      });
      if (document) return viewOf(await flushOutbox(this.#context, this.#collection, document));
    } catch (error) {
      throw taken(error, { kind, id: found.id, fields });
    }
    throw missing(kind, asset);
  }

  /** @throws AnnealError InvalidRequest while something is in it. */
  async remove({ kind, asset, occasion }: Question<typeof assetRemove>): Promise<void> {
    for (;;) {
      const found = await this.#find(kind, asset);
      await this.#requireOff(found, 'deletion');
      await this.#requireEmpty(found);
      if (await this.#drop(found, { reason: 'removed', occasion })) return;
    }
  }

  /** Removes what belongs to a node that was removed. */
  async removeOf(nodeId: string): Promise<void> {
    for (const found of await this.#collection.find({ where: { node_id: nodeId } }))
      await this.#drop(found, { reason: 'its node was removed', occasion: undefined });
    await this.#claims.forget(nodeId);
  }

  /** @throws AnnealError InvalidRequest for a chassis that does not exist. */
  async requireChassis(id: string | null): Promise<void> {
    if (id === null || (await this.#collection.get(id))?.kind === 'chassis') return;
    throw invalid('chassis_uuid', `Chassis ${id} could not be found.`);
  }

  async #drop(found: AssetDocument, { reason, occasion }: { reason: string; occasion: Occasion | undefined }) {
    if (!(await this.#collection.remove(found.id, found.version))) return false;
    await this.#context.bus.publish([this.#event('removed', found, { occasion, reason }).message]);
    return true;
  }

  async #find(kind: AssetKind, idOrName: string): Promise<AssetDocument> {
    const byId = await this.#collection.get(idOrName);
    if (byId?.kind === kind) return byId;
    const [named] = await this.#collection.find({ where: { name_key: `${kind} name ${idOrName}` }, limit: 1 });
    if (named) return named;
    throw missing(kind, idOrName);
  }

  async #node(idOrName: string): Promise<NodeDocument> {
    const node = await this.#records.find(idOrName);
    if (node) return node;
    throw new AnnealError('NotFound', `Node ${idOrName} could not be found.`);
  }

  /**
   * @throws AnnealError InvalidRequest for a node or group that does not exist; Conflict for another network;
   *   AlreadyExists for the address of another node
   */
  async #requirePlace(
    kind: AssetKind,
    id: string,
    { node_uuid: node, portgroup_uuid: group, physical_network: network, address }: JsonObject,
  ) {
    if (typeof node === 'string' && !(await this.#records.get(node)))
      throw invalid('node_uuid', `Node ${node} could not be found.`);
    const mac = kind === 'port' && typeof address === 'string' ? address : undefined;
    const owner = mac === undefined ? undefined : await this.#claims.holder(mac);
    if (owner && owner.id !== node)
      throw new AnnealError(
        'AlreadyExists',
        `A port with MAC address ${mac} already exists: node ${owner.name} has an interface with it.`,
      );
    if (kind !== 'port' || typeof group !== 'string') return;
    const holder = await this.#collection.get(group);
    if (holder?.kind !== 'port group' || holder.node_id !== node)
      throw invalid('portgroup_uuid', `The node of the port has no port group ${group}.`);
    const others = (await this.#portsOf(holder)).filter((each) => each.id !== id);
    const other = others.find(({ fields }) => fields['physical_network'] !== network);
    if (!other) return;
    throw new AnnealError(
      'Conflict',
      `A port with the physical network ${JSON.stringify(network)} cannot become a member of port group ${group}, which has ports with the physical network ${JSON.stringify(other.fields['physical_network'])}.`,
    );
  }

  async #portsOf({ id, node_id }: AssetDocument): Promise<AssetDocument[]> {
    const ports = await this.#collection.find({ where: { node_id, kind: 'port' } });
    return ports.filter(({ fields }) => fields['portgroup_uuid'] === id);
  }

  async #requireEmpty(asset: AssetDocument): Promise<void> {
    const holds =
      asset.kind === 'port group'
        ? (await this.#portsOf(asset)).length > 0 && 'ports'
        : asset.kind === 'chassis' &&
          (await this.#records.all()).some((node) => node.chassis_id === asset.id) &&
          'nodes';
    if (holds === false) return;
    throw new AnnealError(
      'InvalidRequest',
      `Failed to delete the ${asset.kind}: ${asset.kind} ${asset.id} contains ${holds}. Remove or move them first.`,
    );
  }

  /** @throws AnnealError InvalidRequest while a machine may use its volumes. */
  async #requireOff({ kind, node_id }: AssetDocument, action: 'update' | 'deletion'): Promise<void> {
    const node = node_id === null ? undefined : await this.#records.get(node_id);
    const why = node && whyNotNow(kind, node, action);
    if (why !== undefined) throw new AnnealError('InvalidRequest', why);
  }

  #event(
    what: keyof typeof assetEvent,
    { id, kind, node_id, version, fields }: AssetDocument,
    { occasion = systemOccasion(), reason = what }: { occasion?: Occasion | undefined; reason?: string } = {},
  ): Outgoing {
    const origin = { ...noPlace, ...occasion };
    const data = { origin, asset_id: id, kind, name: assetNameOf(fields), node_id, reason, version };
    return { queue: null, message: this.#context.mint(assetEvent[what], { subject: id, data }) };
  }
}

const placed = (kind: AssetKind, id: string, fields: JsonObject) => {
  const name = assetNameOf(fields);
  const { node_uuid: node } = fields;
  return {
    id,
    kind,
    fields,
    node_id: typeof node === 'string' ? node : null,
    key: uniqueKeyOf(kind, fields) ?? `id ${id}`,
    name_key: name === null ? `id ${id}` : `${kind} name ${name}`,
  };
};

const viewOf = ({ id, kind, node_id, fields, created_at, updated_at, version }: AssetDocument): AssetView => ({
  id,
  kind,
  node_id,
  fields,
  created_at,
  updated_at,
  version,
});

function afterPatch({ kind, fields }: Pick<AssetDocument, 'kind' | 'fields'>, patch: NodePatch): JsonObject {
  const names = Object.keys(assetSchemas[kind].shape);
  const { result, mistakes } = patched(fields, patch, { names, defaults: defaultsOf(kind) });
  return checked(kind, result, mistakes);
}

/** @throws AnnealError InvalidRequest that names every mistake. */
function checked(kind: AssetKind, fields: JsonObject, before: readonly Mistake[]): JsonObject {
  const parsed = safeParseExact(assetSchemas[kind], fields);
  if (parsed.success && before.length === 0) return parsed.data as JsonObject;
  const mistakes = [
    ...before,
    ...(parsed.error?.issues ?? []).map(({ path, message }) => ({
      code: 'invalid_value',
      path: path.join('.'),
      message,
    })),
  ];
  const all = mistakes.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ');
  throw new AnnealError('InvalidRequest', `The ${kind} is not valid: ${all}`, { mistakes });
}

const invalid = (path: string, message: string): AnnealError =>
  new AnnealError('InvalidRequest', message, { mistakes: [{ code: 'invalid_value', path, message }] });

const missing = (kind: AssetKind, asset: string): AnnealError =>
  new AnnealError('NotFound', `There is no ${kind} with id or name ${asset}.`);

/** The error for the client, when another asset has the id, the name or the key. */
function taken(error: unknown, { kind, id, fields }: { kind: AssetKind; id: string; fields: JsonObject }): unknown {
  if (!(error instanceof DuplicateError)) return error;
  const name = assetNameOf(fields);
  const text = error.fields.includes('key')
    ? duplicateText(kind, fields)
    : error.fields.includes('name_key')
      ? `A ${kind} with the name ${name} already exists.`
      : `A ${kind} with the id ${id} already exists.`;
  return new AnnealError('AlreadyExists', text, { cause: error });
}
