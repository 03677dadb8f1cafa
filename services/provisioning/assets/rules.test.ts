import { describe, expect, it } from 'vitest';
import { assetNameOf, defaultsOf, duplicateText, uniqueKeyOf, whyNotNow } from './rules.ts';

describe('assets', () => {
  it('have a key where only one may exist, and none elsewhere', () => {
    expect(uniqueKeyOf('port', { address: '52:54:00:00:00:01' })).toBe('port 52:54:00:00:00:01');
    expect(uniqueKeyOf('port group', { address: null })).toBeUndefined();
    expect(uniqueKeyOf('volume connector', { type: 'iqn', connector_id: 'a' })).toBe('volume connector iqn a');
    expect(uniqueKeyOf('volume target', { node_uuid: 'n', boot_index: 0 })).toBe('volume target n 0');
    expect(uniqueKeyOf('chassis', { description: 'a' })).toBeUndefined();
    expect([assetNameOf({ name: 'a' }), assetNameOf({ name: null }), assetNameOf({})]).toEqual(['a', null, null]);
  });

  it('are refused with the value that another has', () => {
    expect(duplicateText('port', { address: 'a' })).toContain('MAC address a');
    expect(duplicateText('volume connector', { type: 'iqn', connector_id: 'c' })).toContain('connector ID c');
    expect(duplicateText('volume target', { boot_index: 3 })).toContain('boot index 3');
  });

  it('get the defaults of their fields back, and required fields have none', () => {
    expect(defaultsOf('chassis')).toEqual({ description: null, extra: {} });
    expect(Object.keys(defaultsOf('port'))).not.toContain('address');
    expect(defaultsOf('volume target')).toEqual({ properties: {}, extra: {} });
  });

  it('keep the volumes of a machine that is on or is being turned on, and nothing else', () => {
    const node = { id: 'n', power: 'power on', power_target: null } as const;
    expect(whyNotNow('volume target', node, 'deletion')).toContain('"volume target deletion"');
    expect(whyNotNow('volume connector', { ...node, power: null, power_target: 'power on' }, 'update')).toBeDefined();
    expect(whyNotNow('volume target', { ...node, power_target: 'power off' }, 'update')).toBeUndefined();
    expect(whyNotNow('port', node, 'update')).toBeUndefined();
  });
});
