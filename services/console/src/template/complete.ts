/** The words that may stand at a place of a template, from the schema of templates and the types of the server. Pure. */
import type { TypeDescription, TypeProperty } from '@anneal/client/types.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import { templateSchema } from '@anneal/hot/tooling/template-schema.ts';
import { declaredIn, type CursorPlace } from './place.ts';

export interface Word {
  readonly label: string;
  readonly info?: string | undefined;
  /** Its kind, for the list. */
  readonly detail?: string | undefined;
  /** Written behind the word. */
  readonly suffix?: string | undefined;
}

export interface Types {
  all(): Promise<readonly { readonly resource_type: string; readonly description?: string | null | undefined }[]>;
  /** Undefined for a type that the server does not know. */
  one(type: string): Promise<TypeDescription | undefined>;
}

const language = templateSchema([]);
const pseudo = ['OS::stack_name', 'OS::stack_id', 'OS::project_id'];

const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** The schemas that a schema may be: its own, its reference and its alternatives. */
function* alternatives(schema: Json | undefined): Generator<JsonObject> {
  if (!isObject(schema)) return;
  const { $ref: reference, anyOf } = schema;
  if (typeof reference === 'string') {
    const definitions = language['$defs'];
    yield* alternatives(isObject(definitions) ? definitions[reference.replace('#/$defs/', '')] : undefined);
  }
  if (Array.isArray(anyOf)) for (const each of anyOf) yield* alternatives(each);
  yield schema;
}

function stepInto(schemas: readonly JsonObject[], key: string): JsonObject[] {
  return schemas.flatMap((schema) => {
    const { properties, additionalProperties: other, items } = schema;
    const next = key === '*' ? items : isObject(properties) && Object.hasOwn(properties, key) ? properties[key] : other;
    return [...alternatives(next)];
  });
}

const schemasAt = (path: readonly string[]): JsonObject[] =>
  path.reduce<JsonObject[]>((schemas, key) => stepInto(schemas, key), [...alternatives(language)]);

const describe = (schema: Json | undefined): string | undefined =>
  isObject(schema) && typeof schema['description'] === 'string' ? schema['description'] : undefined;

function keysOf(schemas: readonly JsonObject[]): Word[] {
  return schemas.flatMap(({ properties, required }) =>
    Object.entries(isObject(properties) ? properties : {}).map(([label, schema]) => ({
      label,
      info: describe(schema),
      detail: Array.isArray(required) && required.includes(label) ? 'required' : undefined,
      suffix: ': ',
    })),
  );
}

const valuesOf = (schemas: readonly JsonObject[]): Word[] =>
  schemas.flatMap(({ enum: values, type }) => [
    ...(Array.isArray(values) ? values.map((value) => ({ label: textOf(value) })) : []),
    ...([type].flat().includes('boolean') ? [{ label: 'true' }, { label: 'false' }] : []),
  ]);

/** The properties of a type below a path in its `properties`. */
function propertiesAt(
  type: TypeDescription,
  path: readonly string[],
): { own?: TypeProperty; inside: TypeDescription['properties'] } {
  let inside: TypeDescription['properties'] = type.properties;
  let own: TypeProperty | undefined;
  for (const key of path) {
    own = inside[key];
    inside = own?.schema ?? {};
  }
  return { ...(own && { own }), inside };
}

const aboutProperty = ({ description, required, update_allowed: updates, type }: TypeProperty): Partial<Word> => ({
  info: [description, updates ? 'A change updates in place.' : 'A change replaces the resource.']
    .filter((part) => part)
    .join('\n'),
  detail: required ? `${type}, required` : type,
});

function allowedBy({ constraints = [], type }: TypeProperty): Word[] {
  const allowed = constraints.flatMap(({ allowed_values: values }) =>
    Array.isArray(values) ? (values as Json[]) : [],
  );
  return [...allowed, ...(type === 'boolean' ? [true, false] : [])].map((value) => ({ label: textOf(value) }));
}

const named = (names: ReadonlyMap<string, string>): Word[] =>
  Array.from(names, ([label, type]) => ({ label, ...(type !== '' && { detail: type }) }));

/** The words that name something of the template: what a function reads, and what a section refers to. */
async function references({ path }: CursorPlace, text: string, types: Types): Promise<Word[] | undefined> {
  const last = path.at(-1) ?? '';
  if (last === 'get_param') return [...named(declaredIn(text, 'parameters')), ...pseudo.map((label) => ({ label }))];
  if (['get_resource', 'get_attr', 'depends_on'].includes(last)) return named(declaredIn(text, 'resources'));
  if (path.at(-2) === 'get_attr' || path.at(-3) === 'get_attr') {
    const type = declaredIn(text, 'resources').get(path.at(-2) === 'get_attr' ? last : '');
    const shown = type === undefined ? undefined : await types.one(type);
    return Object.keys(shown?.attributes ?? {}).map((label) => ({ label, detail: 'attribute' }));
  }
  if (path.at(-2) === 'depends_on') return named(declaredIn(text, 'resources'));
  if (last === 'condition') return named(declaredIn(text, 'conditions'));
  return undefined;
}

async function wordsOf(place: CursorPlace, text: string, types: Types): Promise<Word[]> {
  const { path, writes } = place;
  const [section, resource, part, ...rest] = path;
  const isBelow = section === 'resources' && resource !== undefined;
  if (isBelow && part === 'type' && writes === 'value') {
    const all = await types.all();
    return all.map(({ resource_type: label, description }) => ({ label, info: description ?? undefined }));
  }
  const known =
    writes === 'value' || path.at(-1) === '*' ? await references(withoutItem(place), text, types) : undefined;
  if (known) return known;
  if (isBelow && part === 'properties') {
    const type = await types.one(declaredIn(text, 'resources').get(resource) ?? '');
    if (!type) return [];
    const { own, inside } = propertiesAt(type, rest);
    const calls = rest.length > 0 ? keysOf(schemasAt(['outputs', '', 'value'])) : [];
    if (writes === 'value') return own ? allowedBy(own) : [];
    const keys = Object.entries(inside).filter(([label]) => label !== '*');
    return [...keys.map(([label, each]) => ({ label, suffix: ': ', ...aboutProperty(each) })), ...calls];
  }
  const schemas = schemasAt(path);
  return writes === 'key' ? keysOf(schemas) : valuesOf(schemas);
}

/** An item of a list names the same things as the list. */
const withoutItem = (place: CursorPlace): CursorPlace =>
  place.path.at(-1) === '*' ? { ...place, path: place.path.slice(0, -1) } : place;

/** The words for a place, without the keys that its map already has. */
export async function complete(place: CursorPlace, text: string, types: Types): Promise<Word[]> {
  const there = new Set(place.siblings);
  const seen = new Set<string>();
  return (await wordsOf(place, text, types)).filter(({ label }) => {
    if (there.has(label) || seen.has(label)) return false;
    seen.add(label);
    return true;
  });
}
