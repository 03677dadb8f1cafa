import { resourceTypeSchema, type ResourceType } from '@anneal/contracts/resource-type.ts';
import { describe, expect, it } from 'vitest';
import { knownTypes } from '../known.ts';
import { provisioningTypes } from './provisioning.ts';
import { builtInTypes } from '../served.ts';

describe('the resource types', () => {
  const all = knownTypes;

  it('are announced in the form of the contract', () => {
    for (const type of all) expect(resourceTypeSchema.parse(type)).toEqual(type);
  });

  it('have one definition each', () => {
    expect(new Set(all.map(({ type }) => type)).size).toBe(all.length);
  });

  it('are explained when they are served: each type, property, key of a property, and attribute', () => {
    const missing = (properties: ResourceType['properties'], path: string): string[] =>
      Object.entries(properties).flatMap(([name, { description, schema }]) => [
        // A list says what its items are.
        ...(description || name === '*' ? [] : [`${path}.${name}`]),
        ...missing(schema ?? {}, `${path}.${name}`),
      ]);
    for (const { type, description, properties, attributes } of builtInTypes) {
      expect(description, type).toBeTruthy();
      expect(missing(properties, type)).toEqual([]);
      for (const [name, attribute] of Object.entries(attributes)) expect(attribute.description, name).toBeTruthy();
    }
  });

  it('never replace a machine for a change of user_data', () => {
    const server = provisioningTypes.find(({ type }) => type === 'OS::Nova::Server');
    expect(server?.properties['user_data']?.update_allowed).toBe(true);
    expect(server?.properties['user_data_update_policy']?.default).toBe('IGNORE');
  });
});
