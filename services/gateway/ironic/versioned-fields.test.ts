import { describe, expect, it } from 'vitest';
import { answerAt, tooNewIn } from './versioned-fields.ts';

const asked = (more: Partial<Parameters<typeof tooNewIn>[0]>) =>
  tooNewIn({ path: '/v1/nodes', minor: 20, query: {}, body: undefined, ...more });

describe('fields of a version', () => {
  it('V1: names the field, filter or key of a request that is younger than its version', () => {
    expect(asked({ query: { resource_class: 'a' } })).toEqual({ name: 'resource_class', since: 21 });
    expect(asked({ query: { fields: 'uuid,traits' } })).toEqual({ name: 'traits', since: 37 });
    expect(asked({ body: { driver: 'redfish', shard: 's' } })).toEqual({ name: 'shard', since: 82 });
    expect(asked({ path: '/v1/nodes/n1', body: [{ op: 'add', path: '/owner', value: 'o' }] })).toMatchObject({
      name: 'owner',
    });
    expect(asked({ path: '/v1/ports', query: { portgroup: 'g' } })).toEqual({ name: 'portgroup', since: 24 });
    expect(asked({ minor: 1, query: { fields: 'uuid' } })).toEqual({ name: 'fields', since: 8 });
  });

  it('V1: accepts what is old enough, what it does not know, and any body', () => {
    expect(asked({ query: { associated: 'true' }, body: { name: 'n', driver: 'redfish' } })).toBeUndefined();
    for (const body of [undefined, null, 'text', 7, [null, 'text', { path: 3 }]])
      expect(asked({ body })).toBeUndefined();
    expect(asked({ path: '/v1/chassis', body: { traits: [] } })).toBeUndefined();
  });

  it('V2: shows each item of a list, and a single object, without younger fields', () => {
    const node = { uuid: 'u', name: 'n', traits: [], provision_state: 'available' };
    const at = (minor: number) => answerAt({ nodes: [node], next: 'n' }, { path: '/v1/nodes/', minor });
    expect(at(37)).toEqual({ nodes: [node], next: 'n' });
    expect(at(20)).toEqual({ nodes: [{ uuid: 'u', name: 'n', provision_state: 'available' }], next: 'n' });
    expect(answerAt(node, { path: '/v1/nodes/u', minor: 1 })).toEqual({ uuid: 'u', provision_state: null });
    expect(answerAt({ traits: [] }, { path: '/v1/nodes/u/traits', minor: 1 })).toEqual({ traits: [] });
  });
});
