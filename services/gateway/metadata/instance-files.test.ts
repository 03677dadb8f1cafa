import { describe, expect, it } from 'vitest';
import { createSecrets } from '@anneal/runtime/secrets/secrets.ts';
import { instanceFiles, openInstance, type OpenInstance } from './instance-files.ts';
import { isSessionToken, sessionToken } from './session-token.ts';
import { readTree } from './tree.ts';

const instance: OpenInstance = {
  host_id: 'h1',
  hostname: 'web1',
  project: 'p1',
  user_data: '#!/bin/sh\ntrue\n',
  metadata: {
    role: 'db',
    limits: { cpu: 2 },
    'a/b': 'no path',
    public_keys: { me: 'ssh-ed25519 A', you: 'ssh-rsa B' },
  },
  image: 'debian-12',
  resource_class: 'gold',
  availability_zone: 'east',
  architecture: 'x86_64',
  root_device: '/dev/nvme0n1',
  interfaces: [
    { mac_address: '52:54:00:00:00:02', network: null, addresses: ['192.0.2.9'], prefix: null, gateway: null },
    {
      mac_address: '52:54:00:00:00:01',
      network: 'data',
      addresses: ['10.1.18.3', '2001:db8::3'],
      prefix: 20,
      gateway: '10.1.16.1',
    },
  ],
  network_data: {
    links: [{ id: 'link0', type: 'phy', ethernet_mac_address: '52:54:00:00:00:01' }],
    networks: [
      {
        link: 'link0',
        type: 'ipv4',
        ip_address: '10.1.18.3',
        netmask: '255.255.240.0',
        routes: [{ network: '0.0.0.0', netmask: '0.0.0.0', gateway: '10.1.16.1' }],
      },
      { link: 'link0', type: 'ipv6', ip_address: '2001:db8::3', netmask: 'ffff:ffff:ffff:ffff:0:0:0:0', routes: [] },
    ],
    services: [{ type: 'dns', address: '10.1.0.2' }],
  },
  since: '2026-01-01T00:00:00.000Z',
};
const read = (path: string, of: OpenInstance = instance): string | undefined =>
  readTree(instanceFiles(of, { region: 'RegionOne' }), path.split('/'));

describe('the metadata of a host', () => {
  it.each([
    ['latest', 'meta-data/\nuser-data\ndynamic/'],
    ['2009-04-04/meta-data/instance-id', 'h1'],
    ['latest/meta-data/local-hostname', 'web1'],
    ['latest/meta-data/local-ipv4', '10.1.18.3'],
    ['latest/meta-data/ipv6', '2001:db8::3'],
    ['latest/meta-data/mac', '52:54:00:00:00:01'],
    ['latest/meta-data/instance-type', 'gold'],
    ['latest/meta-data/placement/availability-zone', 'east'],
    ['latest/meta-data/block-device-mapping/root', '/dev/nvme0n1'],
    ['latest/meta-data/block-device-mapping/ami', 'nvme0n1'],
    ['latest/meta-data/public-keys/', '0=me\n1=you'],
    ['latest/meta-data/public-keys/1/openssh-key', 'ssh-rsa B'],
    ['latest/meta-data/tags/instance/', 'role\nlimits'],
    ['latest/meta-data/tags/instance/limits', '{"cpu":2}'],
    ['latest/meta-data/network/interfaces/macs/', '52:54:00:00:00:01/\n52:54:00:00:00:02/'],
    ['latest/meta-data/network/interfaces/macs/52:54:00:00:00:01/subnet-ipv4-cidr-block', '10.1.16.0/20'],
    ['latest/user-data', instance.user_data],
    ['openstack/2018-08-27/user_data', instance.user_data],
    ['openstack/latest/vendor_data.json', '{}'],
  ])('has %s', (path, text) => {
    expect(read(path)).toBe(text);
  });

  it('has the documents of EC2, OpenStack and NoCloud', () => {
    const json = (path: string): unknown => JSON.parse(read(path) ?? '');
    expect(json('latest/dynamic/instance-identity/document')).toMatchObject({ instanceId: 'h1', region: 'RegionOne' });
    expect(json('openstack/latest/meta_data.json')).toMatchObject({ uuid: 'h1', meta: { role: 'db' } });
    expect(json('openstack/latest/network_data.json')).toEqual(instance.network_data);
    expect(json('nocloud/meta-data')).toMatchObject({
      'instance-id': 'h1',
      'public-keys': ['ssh-ed25519 A', 'ssh-rsa B'],
    });
    expect(json('nocloud/network-config')).toEqual({
      version: 2,
      ethernets: {
        link0: {
          match: { macaddress: '52:54:00:00:00:01' },
          dhcp4: false,
          dhcp6: false,
          addresses: ['10.1.18.3/20', '2001:db8::3/64'],
          routes: [{ to: '0.0.0.0/0', via: '10.1.16.1' }],
          nameservers: { addresses: ['10.1.0.2'] },
        },
      },
    });
  });

  it.each([
    'latest/meta-data/nothing',
    'latest/meta-data/hostname/below',
    '__proto__',
    'latest/constructor',
    '../latest',
  ])('has nothing at %s', (path) => {
    expect(read(path)).toBeUndefined();
  });

  it('leaves out what it does not know', () => {
    const bare = { ...instance, user_data: '', metadata: {}, root_device: null, interfaces: [], network_data: null };
    expect(read('latest', bare)).toBe('meta-data/\ndynamic/');
    expect(read('latest/meta-data/public-keys', bare)).toBeUndefined();
    expect(read('latest/meta-data/local-ipv4', bare)).toBeUndefined();
    expect(read('openstack/latest/network_data.json', bare)).toBeUndefined();
    expect(read('nocloud/user-data', bare)).toBe('');
  });

  it('opens sealed user data and metadata', () => {
    const secrets = createSecrets([new Uint8Array(32).fill(7)]);
    const sealed = { ...instance, user_data: secrets.seal('a password'), metadata: { m: secrets.seal('x') } };
    expect(openInstance(sealed, (value) => secrets.open(value))).toMatchObject({
      user_data: 'a password',
      metadata: { m: 'x' },
    });
  });
});

describe('a session token', () => {
  const secrets = createSecrets([new Uint8Array(32).fill(7)]);
  const token = sessionToken(secrets, { hostId: 'h1', expires: 100 });

  it('is valid for its host until it expires', () => {
    expect(isSessionToken(secrets, { token, hostId: 'h1', now: 99_999 })).toBe(true);
    expect(isSessionToken(secrets, { token, hostId: 'h1', now: 100_000 })).toBe(false);
    expect(isSessionToken(secrets, { token, hostId: 'h2', now: 0 })).toBe(false);
  });

  it.each(['', '100', `9${token}`, `${token}.x`, `${token}x`, 'x.y'])('is not %j', (text) => {
    expect(isSessionToken(secrets, { token: text, hostId: 'h1', now: 0 })).toBe(false);
  });
});
