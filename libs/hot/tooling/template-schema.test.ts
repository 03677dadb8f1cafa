import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { functionRows } from '../functions/reference.ts';
import { templateSchema } from './template-schema.ts';
import { knownTypes } from '../known.ts';

const schema = templateSchema(knownTypes);
const definitions = schema['$defs'] as Record<string, JsonObject>;

function* references(value: Json): Generator<string> {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, part] of Object.entries(value)) {
    if (key === '$ref' && typeof part === 'string') yield part;
    else yield* references(part);
  }
}

describe('the JSON Schema of templates', () => {
  it('references only its own definitions', () => {
    const names = [...new Set(references(schema))].map((reference) => reference.replace('#/$defs/', ''));
    expect(names.filter((name) => !Object.hasOwn(definitions, name))).toEqual([]);
  });

  it('contains every type, and every function wherever a value is allowed', () => {
    for (const { type, properties } of knownTypes)
      expect(Object.keys(definitions[type]?.['properties'] ?? {})).toEqual(Object.keys(properties));
    const values = functionRows.filter(({ stands }) => stands !== 'conditions').map(({ name }) => name);
    expect(Object.keys(definitions['call']?.['properties'] ?? {})).toEqual(values);
  });

  it('describes the values of a property, and allows a function instead', () => {
    const { properties } = definitions['OS::Heat::RandomString'] as { properties: Record<string, JsonObject> };
    expect(properties['length']).toMatchObject({
      default: 32,
      anyOf: [
        { type: 'number', minimum: 1, maximum: 512 },
        { type: 'string' },
        { type: 'null' },
        { $ref: '#/$defs/call' },
      ],
    });
  });

  it('is plain JSON', () => {
    expect(JSON.parse(JSON.stringify(schema))).toEqual(schema);
  });
});
