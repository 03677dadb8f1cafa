/** The rules for assets: values that only one may have, and times at which one may not change. Pure. */
import { assetSchemas, type AssetKind } from '@anneal/contracts/calls/assets.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { CollectionDefinition } from '@anneal/store/port.ts';
import type { NodeDocument } from '../documents/node.ts';

const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '');

export const assetNameOf = ({ name }: JsonObject): string | null => (typeof name === 'string' ? name : null);

/** The stored assets. A1 of `assets.ts`. */
export const assetsDefinition: CollectionDefinition = {
  name: 'provisioning_assets',
  indexes: [
    { fields: ['key'], unique: true },
    { fields: ['name_key'], unique: true },
    { fields: ['kind', 'order'] },
    { fields: ['node_id', 'kind', 'order'] },
    { fields: ['unsent'], only: { field: 'unsent', is: true } },
  ],
};

/** The value that only one asset of the kind may have. Undefined: it has none. */
export function uniqueKeyOf(kind: AssetKind, fields: JsonObject): string | undefined {
  switch (kind) {
    case 'port':
    case 'port group':
      return typeof fields['address'] === 'string' ? `${kind} ${fields['address']}` : undefined;
    case 'volume connector':
      return `${kind} ${textOf(fields['type'])} ${textOf(fields['connector_id'])}`;
    case 'volume target':
      return `${kind} ${textOf(fields['node_uuid'])} ${Number(fields['boot_index'])}`;
    case 'chassis':
      return undefined;
  }
}

export function duplicateText(kind: AssetKind, fields: JsonObject): string {
  switch (kind) {
    case 'volume connector':
      return `A volume connector with type ${textOf(fields['type'])} and connector ID ${textOf(fields['connector_id'])} already exists.`;
    case 'volume target':
      return `A volume target with boot index ${Number(fields['boot_index'])} for the same node already exists.`;
    case 'port':
    case 'port group':
    case 'chassis':
      return `A ${kind} with MAC address ${textOf(fields['address'])} already exists.`;
  }
}

/** The fields that a removal restores, because they have a default. */
export const defaultsOf = (kind: AssetKind): JsonObject =>
  Object.fromEntries(
    Object.entries(assetSchemas[kind].shape).flatMap(([name, schema]) => {
      const empty = schema.safeParse(undefined);
      return empty.success ? [[name, empty.data as Json]] : [];
    }),
  );

/** Why an asset of a running machine stays as it is. Undefined: it may change. */
export function whyNotNow(
  kind: AssetKind,
  node: Pick<NodeDocument, 'id' | 'power' | 'power_target'>,
  action: 'update' | 'deletion',
): string | undefined {
  const isVolume = kind === 'volume connector' || kind === 'volume target';
  const isOn = (node.power_target ?? node.power) === 'power on';
  if (!isVolume || !isOn) return undefined;
  return `The requested action "${kind} ${action}" can not be performed on node "${node.id}" while it is in state "power on": its machine may use the volume. Turn it off first.`;
}
