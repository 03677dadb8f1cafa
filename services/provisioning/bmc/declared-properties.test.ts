import { describe, expect, it } from 'vitest';
import { capabilitiesOf, checkDeclared, inspectedProperties } from './declared-properties.ts';

describe('declared properties of a node', () => {
  it('contain capabilities as a map or as text', () => {
    expect(capabilitiesOf({ capabilities: 'profile:control, boot_option:local' })).toEqual({
      profile: 'control',
      boot_option: 'local',
    });
    expect(capabilitiesOf({ capabilities: { slot: 3, secure: true } })).toEqual({ slot: '3', secure: 'true' });
    expect(capabilitiesOf({})).toEqual({});
    expect(() => checkDeclared({ capabilities: 'profile' })).toThrow(/properties.capabilities: must be "name:value/);
  });

  it('survive the inspection, which overrides hardware facts but not networks', () => {
    const declared = {
      capabilities: 'profile:control',
      memory_mb: 1,
      local_gb: 100,
      interfaces: [
        { mac_address: 'AA:00:00:00:00:01', network: 'ctlplane', addresses: ['192.0.2.1'] },
        { mac_address: 'aa:00:00:00:00:09', network: 'storage' },
      ],
    };
    const inventory = {
      memory_mb: 16_384,
      local_gb: null,
      cpu_arch: null,
      interfaces: [
        { name: 'NIC1', mac_address: 'aa:00:00:00:00:01', addresses: [] },
        { name: 'NIC2', mac_address: 'aa:00:00:00:00:02', addresses: ['192.0.2.2'] },
      ],
    };
    expect(inspectedProperties(declared, inventory)).toEqual({
      capabilities: 'profile:control',
      memory_mb: 16_384,
      local_gb: 100,
      cpu_arch: null,
      interfaces: [
        { name: 'NIC1', mac_address: 'aa:00:00:00:00:01', network: 'ctlplane', addresses: ['192.0.2.1'] },
        { name: 'NIC2', mac_address: 'aa:00:00:00:00:02', addresses: ['192.0.2.2'] },
        { mac_address: 'aa:00:00:00:00:09', network: 'storage' },
      ],
    });
  });
});
