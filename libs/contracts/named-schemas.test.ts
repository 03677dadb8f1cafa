import { expect, it } from 'vitest';
import { z } from 'zod';
import { asyncApi } from './asyncapi/document.ts';
import type { JsonObject } from './json.ts';
import { jsonSchemaOf, NamedSchemas } from './named-schemas.ts';
import { definitionsByFile } from './registry.ts';

const colour = z.object({ name: z.string(), shade: z.number().default(1) }).meta({ id: 'TestColour' });
const wall = z.object({ paint: colour, trim: colour.optional() });

it('moves a named part to one place and refers to it', () => {
  const named = new NamedSchemas();
  const reference = { $ref: '#/components/schemas/TestColour' };
  expect(named.place(jsonSchemaOf(wall, 'input'))).toMatchObject({ properties: { paint: reference, trim: reference } });
  expect(Object.keys(named.parts)).toEqual(['TestColour']);
  expect(named.parts['TestColour']).toMatchObject({ required: ['name'] });
  expect(JSON.stringify(named.place(jsonSchemaOf(wall, 'input')))).not.toContain('$defs');
});

it('refuses one name for the input and the output of a schema with a default', () => {
  const named = new NamedSchemas();
  named.place(jsonSchemaOf(wall, 'input'));
  expect(() => named.place(jsonSchemaOf(wall, 'output'))).toThrow('Two schemas have the name TestColour');
});

it('refuses a schema that contains itself without a name', () => {
  const tree: z.ZodType = z.lazy(() => z.object({ children: z.array(tree) }));
  expect(() => new NamedSchemas().place(jsonSchemaOf(z.object({ tree }), 'input'))).toThrow('needs a name');
});

it('every reference in the AsyncAPI document leads to a part of it', () => {
  const document = asyncApi({ version: '0', byFile: definitionsByFile });
  const references = new Set<string>();
  JSON.stringify(document, (key, value: unknown) => {
    if (key === '$ref') references.add(String(value));
    return value;
  });
  expect(references.size).toBeGreaterThan(100);
  for (const reference of references) {
    const path = reference.replace('#/', '').split('/');
    const found = path.reduce<unknown>((at, name) => (at as JsonObject | undefined)?.[name], document);
    expect(found, reference).toBeDefined();
  }
});
