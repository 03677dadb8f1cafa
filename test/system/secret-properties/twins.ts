/**
 * Twins: two resources with the same property, plain in one and secret in the other. Everything that the services record
 * about them must be the same: state, attributes, the request to the host, the members of a group. Beside them are
 * resources that lack the property, or a key of it: their records must differ, or the property does nothing.
 */
import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import type { TestContext } from '@anneal/runtime/testing.ts';
import { lacksOf } from './effects.ts';
import type { TypeEntry } from './entry.ts';

const words = { plain: 'openword', secret: 'topsecret' } as const;
export type Twin = keyof typeof words;
export const twins = ['plain', 'secret'] as const satisfies readonly Twin[];
export const secretWord = words.secret;

export const twinName = (twin: Twin, property: string): string => `${twin}-${property}`;

export const valueIn = (value: Json, twin: Twin): Json =>
  JSON.parse(JSON.stringify(value).replaceAll('@', words[twin])) as Json;

/** `##` becomes two digits that no other twin has. */
const numbered = <T extends Json>(value: T, count: number): T =>
  JSON.parse(JSON.stringify(value).replaceAll('##', String(count))) as T;

/** The value as it is, or through an expression that reads a hidden parameter, which makes all of it secret. */
const given = (value: Json, twin: Twin): Json =>
  twin === 'plain'
    ? valueIn(value, twin)
    : { yaql: { expression: '$.data.value', data: { value: valueIn(value, twin), by: { get_param: 'hidden' } } } };

/** A resource that lacks something, and the twin that has it. */
export interface Variant {
  readonly path: string;
  readonly name: string;
  readonly twin: string;
}

/** The resources of a stack that tries every property of a type. */
export function twinResources(
  type: Pick<ResourceType, 'type' | 'properties'>,
  entry: TypeEntry,
): { resources: JsonObject; variants: Variant[] } {
  let count = 10;
  const resources: JsonObject = {};
  const others = (property: string): JsonObject =>
    valueIn({ ...entry.base, ...entry.with?.[property] }, 'plain') as JsonObject;
  const add = (name: string, properties: JsonObject): string => {
    resources[name] = { type: type.type, properties: numbered(properties, (count += 1)) };
    return name;
  };
  for (const [property, value] of Object.entries(entry.values)) {
    for (const twin of twins) add(twinName(twin, property), { ...others(property), [property]: given(value, twin) });
  }
  const added = new Map<string, string>();
  const variants = lacksOf(type, entry).map(({ path, property, value }): Variant => {
    const properties = { ...others(property), ...(value !== undefined && { [property]: valueIn(value, 'plain') }) };
    const key = JSON.stringify(properties);
    const name = added.get(key) ?? add(`without-${added.size}`, properties);
    added.set(key, name);
    return { path, name, twin: twinName('plain', property) };
  });
  return { resources, variants };
}

interface Row {
  readonly collection: string;
  readonly document: JsonObject;
}

/** Everything that the services store about resources, read beside them. */
export function storedRows({ directory }: Pick<TestContext, 'directory'>): Row[] {
  const database = new DatabaseSync(join(directory, 'store.db'), { readOnly: true });
  try {
    const tables = database.prepare(`SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'c:%'`).all();
    const collections = tables.map(({ name }) => String(name).slice(2)).filter((name) => !notCompared.has(name));
    const rows = collections.flatMap((collection) =>
      database
        .prepare(`SELECT body FROM "c:${collection}"`)
        .all()
        .map(({ body }): Row => ({ collection, document: JSON.parse(String(body)) as JsonObject })),
    );
    const blob = database.prepare('SELECT content FROM blobs WHERE hash = ?');
    return rows.map(({ collection, document }) => {
      if (collection !== 'scheduling_workflows') return { collection, document };
      const { spec: hash } = document as { spec: string };
      const { content } = blob.get(hash) ?? {};
      const spec = JSON.parse(new TextDecoder().decode(content as Uint8Array)) as Json;
      return { collection, document: { ...document, spec } };
    });
  } finally {
    database.close();
  }
}

export interface TwinResource {
  readonly id: string;
  readonly name: string;
  readonly physical_name: string;
}

/** Bookkeeping of the engine, which differs for each resource. */
const notCompared = new Set(['scheduling_journal', 'scheduling_timers', 'scheduling_events', 'scheduling_event_runs']);
const bookkeeping = new Set([
  'version',
  'request',
  'sequence',
  'shown_at',
  'seen_at',
  'outbox',
  'asker',
  'digest',
  'applied',
  'requires',
  'events',
  'source',
  'plan',
  'target',
  'previous',
  'resources',
  'bytes',
  'clock',
  'contents',
  'unsent',
  'attempts',
  'attempts_number',
  'evaluated',
  'state_reason',
  'hash',
  'salt',
]);

/** The records of a resource and everything inside it, open, and without the names of this twin. */
export function recordOfTwin(
  { secrets, sent = [] }: Pick<TestContext, 'secrets'> & { sent?: readonly Envelope[] },
  rows: readonly Row[],
  resource: TwinResource,
): Json {
  const { about, hosts, members } = indexOf(rows);
  const of = (id: string): Json[] => {
    return [
      ...(about.get(id) ?? []).map(({ collection, document }) => [
        collection,
        compared(secrets.open<JsonObject>(document)),
      ]),
      ...(members.get(id) ?? []).map(({ document }) => of(document['id'] as string)),
    ];
  };
  const { id, name, physical_name: physical } = resource;
  const anonymous = (text: string): string =>
    text
      .replaceAll(/^[\dA-Z#]{3,4}$/g, (drawn) =>
        Array.from(drawn.replaceAll(/\d/g, '0').replaceAll(/[A-Z]/g, 'A')).toSorted().join(''),
      )
      .replaceAll(physical, 'PHYSICAL')
      .replaceAll(physical.toLowerCase().replaceAll('_', '-'), 'PHYSICAL')
      .replaceAll(id, 'ID')
      .replaceAll(id.replaceAll('-', ''), 'ID')
      .replaceAll(name, 'NAME')
      .replaceAll(words.plain, '@')
      .replaceAll(words.secret, '@')
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
      .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (known) => (hosts.has(known) ? 'HOST' : 'UUID'))
      .replaceAll(/-[0-9a-z]{12}\b/g, '-SUFFIX')
      .replaceAll(/\ba[0-9a-z]{11}\b/g, 'MEMBER')
      .replaceAll(/52:54:00:00:00:\d\d/g, 'ADDRESS')
      // Reasons quote no secret.
      .replaceAll('******', '@')
      .replaceAll(/\(flavor [\w.@]+\)/g, '(FLAVOR)')
      .replaceAll(/[\w=-]{32,}/g, 'TOKEN');
  const messages = sent.flatMap(({ type, data }): Json[] => {
    const body = data as JsonObject;
    return body['policy'] === name || body['source'] === id ? [[type, secrets.open(body)]] : [];
  });
  return each([...of(id), ...messages], anonymous);
}

interface RowIndex {
  /** The rows of an object, and those that name it as their resource, by its id. */
  readonly about: ReadonlyMap<string, Row[]>;
  /** The resources of a stack, by its id. */
  readonly members: ReadonlyMap<string, Row[]>;
  /** The ids of hosts, which stay, because the twins name the same one. */
  readonly hosts: ReadonlySet<unknown>;
}

const indexes = new WeakMap<readonly Row[], RowIndex>();

function indexOf(rows: readonly Row[]): RowIndex {
  const known = indexes.get(rows);
  if (known) return known;
  const [about, members] = [new Map<string, Row[]>(), new Map<string, Row[]>()];
  const note = (map: Map<string, Row[]>, key: Json | undefined, row: Row): void => {
    if (typeof key !== 'string') return;
    const list = map.get(key);
    if (list) list.push(row);
    else map.set(key, [row]);
  };
  for (const row of rows) {
    const { id, resource, stack_id: stack } = row.document;
    note(about, id, row);
    if (resource !== id) note(about, resource, row);
    if ('physical_name' in row.document) note(members, stack, row);
  }
  const hosts = new Set(
    rows.flatMap(({ collection, document }) => (collection === 'configuration_hosts' ? [document['id']] : [])),
  );
  const index = { about, members, hosts };
  indexes.set(rows, index);
  return index;
}

/** The value with each of its texts and names changed. Times in milliseconds are 0. */
function each(value: Json, change: (text: string) => string): Json {
  if (typeof value === 'string') return change(value);
  if (typeof value === 'number') return value > 1e12 ? 0 : value;
  if (Array.isArray(value)) return value.map((item) => each(item, change));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [change(key), each(item, change)]));
}

function compared(value: Json): Json {
  if (Array.isArray(value)) return value.map(compared);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).flatMap(([key, item]): [string, Json][] =>
    bookkeeping.has(key) && !isHostRequest(item) ? [] : [[key, compared(item)]],
  );
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** The request of a deployment to its host is what its properties are for. */
const isHostRequest = (value: Json): boolean => isObject(value) && 'deployment_id' in value;
