import { resourceTypeSchema } from '@anneal/contracts/resource-type.ts';
import { describe, expect, it } from 'vitest';
import { knownTypes } from './known.ts';
import { provisioningTypes } from './provisioning.ts';

describe('the resource types', () => {
  const all = knownTypes;

  it('are announced in the form of the contract', () => {
    for (const type of all) expect(resourceTypeSchema.parse(type)).toEqual(type);
  });

  it('have one definition each', () => {
    expect(new Set(all.map(({ type }) => type)).size).toBe(all.length);
  });

  it('never replace a machine for a change of user_data', () => {
    const server = provisioningTypes.find(({ type }) => type === 'OS::Nova::Server');
    expect(server?.properties['user_data']?.update_allowed).toBe(true);
    expect(server?.properties['user_data_update_policy']?.default).toBe('IGNORE');
  });
});
