/**
 * Twins: two resources with the same property, plain in one and secret in the other. Everything that the services record
 * about them must be the same: state, attributes, the request to the host, the members of a group.
 */
import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { TestContext } from '@anneal/runtime/testing.ts';

/** The properties to try of a type. */
export interface TypeEntry {
  /** The properties of every resource of the type, so that it is valid. */
  readonly base?: JsonObject;
  /** A value for each property. In texts, `@` becomes another word in each twin, and `##` another number. */
  readonly values: Readonly<Record<string, Json>>;
  /** Properties of all resources for one property, where its effect needs them. */
  readonly with?: Readonly<Record<string, JsonObject>>;
  /** Properties that must be known before the stack exists, with the reason. They are not tried. */
  readonly fixed?: Readonly<Record<string, string>>;
  /** Properties whose texts name an object, so they are shown. The text of every other property stays sealed. */
  readonly names?: readonly string[];
  /** Its provider acts on the values itself, and keeps them open: only what the engine keeps and shows is sealed. */
  readonly opens?: true;
  /** Its properties have their effect on this signal: the messages that follow are compared. */
  readonly signal?: JsonObject;
  /** The creation fails, because nothing comes that the resources wait for: the reasons are compared. */
  readonly fails?: true;
  /** The resources only begin, because their end needs a machine: compare what is recorded until then. */
  readonly waits?: true;
}

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

/** The resources of a stack that tries every property of a type. */
export function twinResources(type: string, entry: TypeEntry): JsonObject {
  let count = 10;
  const resources = Object.entries(entry.values).flatMap(([property, value]) =>
    twins.map((twin): [string, Json] => {
      const base = valueIn(entry.base ?? {}, 'plain') as JsonObject;
      const others = numbered({ ...base, ...entry.with?.[property] }, (count += 1));
      const properties = { ...others, [property]: numbered(given(value, twin), count) };
      return [twinName(twin, property), { type, properties }];
    }),
  );
  return Object.fromEntries(resources);
}

interface Row {
  readonly collection: string;
  readonly document: JsonObject;
}

/** Everything that the services store, read beside them. */
export function storedRows({ directory }: Pick<TestContext, 'directory'>): Row[] {
  const database = new DatabaseSync(join(directory, 'store.db'), { readOnly: true });
  try {
    const tables = database.prepare(`SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'c:%'`).all();
    return tables.flatMap(({ name }) =>
      database
        .prepare(`SELECT body FROM "${String(name)}"`)
        .all()
        .map(({ body }) => ({ collection: String(name).slice(2), document: JSON.parse(String(body)) as JsonObject })),
    );
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
  const of = (id: string): Json[] => {
    const own = rows.filter(({ collection, document }) => document['id'] === id && !notCompared.has(collection));
    const members = rows.filter(({ document }) => document['stack_id'] === id && 'physical_name' in document);
    return [
      ...own.map(({ collection, document }) => [collection, compared(secrets.open<JsonObject>(document))]),
      ...members.map(({ document }) => of(document['id'] as string)),
    ];
  };
  const { id, name, physical_name: physical } = resource;
  const anonymous = (text: string): string =>
    text
      .replaceAll(/^[\dA-Z#]{3,4}$/g, (drawn) =>
        Array.from(drawn.replaceAll(/\d/g, '0').replaceAll(/[A-Z]/g, 'A')).toSorted().join(''),
      )
      .replaceAll(physical, 'PHYSICAL')
      .replaceAll(id, 'ID')
      .replaceAll(id.replaceAll('-', ''), 'ID')
      .replaceAll(name, 'NAME')
      .replaceAll(words.plain, '@')
      .replaceAll(words.secret, '@')
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
      .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (known) => aliasOf(known, rows))
      .replaceAll(/-[0-9a-z]{12}\b/g, '-SUFFIX')
      .replaceAll(/\ba[0-9a-z]{11}\b/g, 'MEMBER')
      .replaceAll(/52:54:00:00:00:\d\d/g, 'ADDRESS')
      .replaceAll(/[\w=-]{32,}/g, 'TOKEN');
  const messages = sent.flatMap(({ type, data }): Json[] => {
    const about = data as JsonObject;
    return about['policy'] === name || about['source'] === id ? [[type, secrets.open(about)]] : [];
  });
  return each([...of(id), ...messages], anonymous);
}

/** The value with each of its texts and names changed. Times in milliseconds are 0. */
function each(value: Json, change: (text: string) => string): Json {
  if (typeof value === 'string') return change(value);
  if (typeof value === 'number') return value > 1e12 ? 0 : value;
  if (Array.isArray(value)) return value.map((item) => each(item, change));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [change(key), each(item, change)]));
}

/** The ids of hosts stay, because the twins name the same one. */
const aliasOf = (id: string, rows: readonly Row[]): string =>
  rows.some(({ collection, document }) => collection === 'configuration_hosts' && document['id'] === id)
    ? 'HOST'
    : 'UUID';

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
