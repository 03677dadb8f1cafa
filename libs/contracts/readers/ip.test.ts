import { describe, expect, it } from 'vitest';
import { ipFamily, isInNetwork, isIpAddress, normalIp, readNetwork, type IpNetwork } from './ip.ts';

describe('an IP address', () => {
  it.each([
    ['10.0.0.1', 4, '10.0.0.1'],
    ['255.255.255.255', 4, '255.255.255.255'],
    ['::', 6, '::'],
    ['::1', 6, '::1'],
    ['2001:DB8:0:0:0:0:0:7', 6, '2001:db8::7'],
    ['2001:db8::0001:0:0:1', 6, '2001:db8::1:0:0:1'],
    ['1:2:3:4:5:6:7:8', 6, '1:2:3:4:5:6:7:8'],
    ['1:2:3:4:5:6:7::', 6, '1:2:3:4:5:6:7:0'],
    ['fe80::', 6, 'fe80::'],
    ['::ffff:192.0.2.1', 6, '192.0.2.1'],
    ['::ffff:c000:201', 6, '192.0.2.1'],
    ['64:ff9b::192.0.2.33', 6, '64:ff9b::c000:221'],
  ])('%s is of the family %s, in one form %s', (text, family, normal) => {
    expect(ipFamily(text)).toBe(family);
    expect(normalIp(text)).toBe(normal);
  });

  it.each([
    '',
    '10.0.0',
    '10.0.0.256',
    '010.0.0.1',
    '10.0.0.1 ',
    '0x0a.0.0.1',
    '167772161',
    '1::2::3',
    ':::',
    ':1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '1:2:3:4:5:6:7:8::',
    '12345::',
    'g::',
    '::10.0.0',
    '1:2:3:4:5:6:7:10.0.0.1',
    'fe80::1%eth0',
    '[::1]',
    '10.0.0.1/8',
    `${'1:'.repeat(100_000)}1`,
  ])('is not %j', (text) => {
    expect(isIpAddress(text)).toBe(false);
    expect(readNetwork(`${text}/8`)).toBeUndefined();
  });

  it('loses the zone of its machine', () => expect(normalIp('FE80::1%eth0')).toBe('fe80::1'));
});

describe('a network', () => {
  const network = (text: string): IpNetwork => readNetwork(text) ?? { bytes: [], prefix: 0, hasPrefix: false };
  it.each([
    ['10.1.2.3', '10.0.0.0/8', true],
    ['11.1.2.3', '10.0.0.0/8', false],
    ['10.0.0.127', '10.0.0.5/25', true],
    ['10.0.0.128', '10.0.0.5/25', false],
    ['192.0.2.1', '0.0.0.0/0', true],
    ['192.0.2.1', '192.0.2.1', true],
    ['192.0.2.2', '192.0.2.1', false],
    ['::ffff:10.1.2.3', '10.0.0.0/8', true],
    ['10.1.2.3', '::ffff:10.0.0.0/104', true],
    ['2001:db8::7', '2001:db8::/32', true],
    ['2001:db9::7', '2001:db8::/32', false],
    ['fe80::1%eth0', 'fe80::/10', true],
    ['10.0.0.1', '::/0', false],
    ['text', '0.0.0.0/0', false],
  ])('has %s, in %s: %s', (address, text, isIn) => {
    expect(isInNetwork(address, network(text))).toBe(isIn);
  });

  it.each([
    '10.0.0.0/33',
    '::/129',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '10.0.0.0/ 8',
    '10.0.0.0/-1',
    '10.0.0.0/1e1',
    '10.0/8',
  ])('is not %j', (text) => {
    expect(readNetwork(text)).toBeUndefined();
  });
});
