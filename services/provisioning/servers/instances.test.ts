import { describe, expect, it } from 'vitest';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { NodeDocument } from '../documents/node.ts';
import { Instances } from './instances.ts';

const nic = (...addresses: string[]): JsonObject => ({
  interfaces: [{ mac_address: '52:54:00:00:00:01', addresses }],
});
const node = (id: string, fields: Partial<NodeDocument> = {}): NodeDocument =>
  ({
    id,
    name: id,
    state: 'active',
    instance_id: `host of ${id}`,
    instance_info: { name: id, project: 'p1', image: 'debian', user_data: `for ${id}` },
    properties: {},
    facts: {},
    resource_class: 'baremetal',
    provision_updated_at: '2026-01-01T00:00:00.000Z',
    ...fields,
  }) as NodeDocument;

function open(...nodes: NodeDocument[]) {
  const clock = { now: 0 };
  const records = {
    all: async () => nodes,
    get: async (id: string) => nodes.find((each) => each.id === id),
    ofInstance: async (id: string) => nodes.find(({ instance_id }) => instance_id === id),
  };
  const instances = new Instances({ records, now: () => clock.now });
  const at = (address: string): Promise<unknown> =>
    instances.show({ address }).then(
      ({ user_data }) => user_data,
      () => 'unknown',
    );
  return { instances, at, clock, nodes };
}

describe('a host that asks for its metadata', () => {
  it('M1: is known by the addresses that an operator declared, in any form', async () => {
    const { at } = open(
      node('a', { declared: nic('10.0.0.1', '2001:DB8:0::1') }),
      node('b', { declared: nic('10.0.0.2') }),
    );
    expect(await at('10.0.0.1')).toBe('for a');
    expect(await at('::ffff:10.0.0.2')).toBe('for b');
    expect(await at('2001:db8::1')).toBe('for a');
    expect(await at('10.0.0.3')).toBe('unknown');
  });

  it('M1: is not known by an address that its agent, its BMC or its template names', async () => {
    const { at } = open(
      node('liar', { properties: nic('10.0.0.9'), facts: { address: '10.0.0.9', addresses: ['10.0.0.9'] } }),
    );
    expect(await at('10.0.0.9')).toBe('unknown');
  });

  it('M2: is not known by an address that another node declares too', async () => {
    const { at } = open(node('a', { declared: nic('10.0.0.1') }), node('b', { declared: nic('10.0.0.1') }));
    expect(await at('10.0.0.1')).toBe('unknown');
  });

  it('is not known any more as soon as its node declares another address', async () => {
    const { at, nodes, clock } = open(node('a', { declared: nic('10.0.0.1') }));
    expect(await at('10.0.0.1')).toBe('for a');
    nodes[0] = node('a', { declared: nic('10.0.0.2') });
    expect(await at('10.0.0.1')).toBe('unknown');
    clock.now = 5_001;
    expect(await at('10.0.0.2')).toBe('for a');
  });

  it.each(['deleting', 'error', 'cleaning', 'clean failed', 'available'] as const)(
    'M3: is not known while its node is %s',
    async (state) => {
      const { at, instances } = open(node('a', { state, declared: nic('10.0.0.1') }));
      expect(await at('10.0.0.1')).toBe('unknown');
      await expect(instances.show({ host_id: 'host of a' })).rejects.toMatchObject({ code: 'NotFound' });
    },
  );

  it('M3: is known while it boots for the first time', async () => {
    const { instances } = open(node('a', { state: 'wait call-back' }));
    expect(await instances.show({ host_id: 'host of a' })).toMatchObject({ hostname: 'a', user_data: 'for a' });
  });
});
