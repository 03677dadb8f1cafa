import type { JsonObject } from '@anneal/contracts/json.ts';
import { describe, expect, it } from 'vitest';
import { firstAddress, serverAddresses } from './addresses.ts';

const macs = ['52:54:00:00:00:01', '52:54:00:00:00:02'] as const;
const nics = (first: JsonObject = {}, second: JsonObject = {}): JsonObject => ({
  interfaces: [
    { name: 'NIC1', mac_address: macs[0], ...first },
    { name: 'NIC2', mac_address: macs[1], ...second },
  ],
});
const of = (networks: JsonObject[] | undefined, options: { properties?: JsonObject; facts?: JsonObject } = {}) =>
  serverAddresses({ networks, properties: nics(), facts: { address: '192.0.2.7' }, ...options });

describe('the addresses of a server', () => {
  it('are keyed by the network of the template, in the form of Nova', () => {
    expect(of([{ network: 'ctlplane' }])).toEqual({
      networks: { ctlplane: ['192.0.2.7'] },
      addresses: {
        ctlplane: [{ addr: '192.0.2.7', version: 4, 'OS-EXT-IPS:type': 'fixed', 'OS-EXT-IPS-MAC:mac_addr': macs[0] }],
      },
    });
  });

  it('are under the default network when the template names none', () => {
    expect(of(undefined).networks).toEqual({ baremetal: ['192.0.2.7'] });
    expect(of([]).networks).toEqual({ baremetal: ['192.0.2.7'] });
  });

  it('use the key that the attachment names: network, uuid, subnet, port, or only an address', () => {
    const attachments = [{ uuid: 'u' }, { subnet: 's' }, { port: 'p' }, { network: 'n', subnet: 's2', port: 'p2' }];
    expect(Object.keys(of(attachments).networks)).toEqual(['u', 's', 'p', 'n']);
    expect(of([{ fixed_ip: '192.0.2.99' }]).networks).toEqual({ baremetal: ['192.0.2.99'] });
    expect(of([{ network: 'a' }, { network: 'b', allocate_network: 'none' }]).networks).toEqual({ a: ['192.0.2.7'] });
  });

  it('include each fixed_ip, and several on one network in order', () => {
    const found = of([
      { network: 'n', fixed_ip: '192.0.2.20' },
      { network: 'n', fixed_ip: '2001:db8::5' },
    ]);
    expect(found.networks).toEqual({ n: ['192.0.2.20', '2001:db8::5'] });
    expect(found.addresses['n']?.map(({ version }) => version)).toEqual([4, 6]);
    expect([firstAddress(found), firstAddress(found, 6)]).toEqual(['192.0.2.20', '2001:db8::5']);
  });

  it('take addresses and MAC from the interface that the node declares for the network, in any order', () => {
    const properties = nics(
      { network: 'storage', addresses: ['198.51.100.4'] },
      { network: 'ctlplane', addresses: ['192.0.2.7'] },
    );
    expect(of([{ network: 'ctlplane' }, { network: 'storage' }], { properties })).toMatchObject({
      networks: { ctlplane: ['192.0.2.7'], storage: ['198.51.100.4'] },
      addresses: {
        ctlplane: [{ 'OS-EXT-IPS-MAC:mac_addr': macs[1] }],
        storage: [{ 'OS-EXT-IPS-MAC:mac_addr': macs[0] }],
      },
    });
  });

  it('put an inspected address under the network at its position', () => {
    const properties = nics({ addresses: ['192.0.2.7'] }, { addresses: ['203.0.113.9'] });
    expect(of([{ network: 'a' }, { network: 'b' }], { properties }).networks).toEqual({
      a: ['192.0.2.7'],
      b: ['203.0.113.9'],
    });
  });

  it('repeat the only known address of a machine on every network, so that no network is empty', () => {
    expect(of([{ network: 'a' }, { network: 'b' }]).networks).toEqual({ a: ['192.0.2.7'], b: ['192.0.2.7'] });
    expect(of([{ network: 'a' }], { facts: {} }).networks).toEqual({ a: [] });
    expect(of([{ network: 'a' }], { facts: {}, properties: {} })).toEqual({
      networks: { a: [] },
      addresses: { a: [] },
    });
  });
});
