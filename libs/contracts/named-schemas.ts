/**
 * JSON Schemas for documents with one place for schemas, such as AsyncAPI and OpenAPI: a part that has a name (zod's
 * `meta({ id })`, given in `schema-names.ts`) appears once, and everything else refers to it. Pure.
 */
import { z } from 'zod';
import { AnnealError } from './errors.ts';
import type { Json, JsonObject } from './json.ts';
import { nameSchemas } from './schema-names.ts';

nameSchemas();

/**
 * The JSON Schema of what a sender may write (`input`) or what a reader gets (`output`). Its named parts are in `$defs`. An
 * output may have more fields than it says, because a reader must accept those of a newer version.
 */
export const jsonSchemaOf = (schema: z.ZodType, io: 'input' | 'output'): JsonObject =>
  z.toJSONSchema(schema, {
    target: 'draft-2020-12',
    io,
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
    },
  }) as unknown as JsonObject;

/** The named parts of the schemas of one document. */
export class NamedSchemas {
  readonly #parts = new Map<string, JsonObject>();

  /** The parts so far, by name, in alphabetical order. */
  get parts(): Record<string, JsonObject> {
    return Object.fromEntries([...this.#parts].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }

  /**
   * The schema for a place in the document: without `$schema` and `$defs`, because its references lead to
   * `#/components/schemas/NAME`. Keeps its named parts.
   * @throws AnnealError Defect when two schemas have one name, as do the input and the output of a schema with defaults,
   *   and when a schema contains itself and has no name
   */
  place({ $schema: _schema, $defs = {}, ...schema }: JsonObject): JsonObject {
    for (const [name, part] of Object.entries($defs as Record<string, JsonObject>)) {
      if (name.startsWith('__'))
        throw new AnnealError('Defect', `A schema that contains itself needs a name: ${name}.`);
      const { id: _id, ...placed } = this.#moved(part) as JsonObject;
      const known = this.#parts.get(name);
      if (known && JSON.stringify(known) !== JSON.stringify(placed)) {
        throw new AnnealError('Defect', `Two schemas have the name ${name}.`);
      }
      this.#parts.set(name, placed);
    }
    return this.#moved(schema) as JsonObject;
  }

  #moved(value: Json): Json {
    if (Array.isArray(value)) return value.map((each) => this.#moved(each));
    if (typeof value !== 'object' || value === null) return value;
    const { $ref, ...rest } = value;
    const known = formats.get(rest['pattern']);
    if (known && rest['type'] === 'string') {
      const [name, form] = known;
      this.#parts.set(name, form);
      const { type: _type, format: _format, pattern: _pattern, ...more } = rest;
      return { ...reference(name), ...more };
    }
    const own = typeof $ref === 'string' && $ref.startsWith(within) ? reference($ref.slice(within.length)) : {};
    return { ...own, ...Object.fromEntries(Object.entries(rest).map(([key, each]) => [key, this.#moved(each)])) };
  }
}

const within = '#/$defs/';
const reference = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });

/** The formats that zod checks with a long pattern: a document writes each once. By the pattern. */
const formats: ReadonlyMap<unknown, readonly [name: string, form: JsonObject]> = new Map(
  Object.entries({ Time: z.iso.datetime(), Uuid: z.uuid() }).map(([name, schema]) => {
    const { $schema: _schema, ...form } = jsonSchemaOf(schema, 'output');
    return [form['pattern'], [name, form]];
  }),
);
