import { AnnealError } from '@anneal/contracts/errors.ts';
import type { NodePatch } from '@anneal/contracts/calls/nodes.ts';
import { describe, expect, it } from 'vitest';
import { hiddenPassword } from './driver-info.ts';
import { declarationAfter, fieldsAfter, instanceNotesAfter, interfaceFields, type Fields } from './patch.ts';

const fields: Fields = {
  name: 'n1',
  resource_class: 'gold',
  maintenance: false,
  maintenance_reason: null,
  retired: false,
  retired_reason: null,
  protected: false,
  protected_reason: null,
  owner: null,
  lessee: null,
  description: null,
  traits: ['CUSTOM_A'],
  properties: { cpus: 4, interfaces: [{ mac_address: '52:54:00:12:34:56' }] },
  extra: {},
  instance_info: {},
  driver: 'redfish',
  chassis_uuid: null,
  shard: null,
  instance_uuid: null,
  target_raid_config: {},
  ...interfaceFields({}),
  driver_info: { redfish_address: 'https://10.0.0.7', redfish_username: 'root', redfish_password: hiddenPassword },
};
const after = (...patch: NodePatch): Fields => fieldsAfter(fields, patch);
const mistakes = (...patch: NodePatch): string[] => {
  try {
    after(...patch);
    return [];
  } catch (error) {
    return error instanceof AnnealError ? (error.mistakes ?? []).map(({ path }) => path) : [String(error)];
  }
};

describe('patch of a node', () => {
  it('reads flags as the openstack command writes them, and no other text', () => {
    const retired = after(
      { op: 'add', path: '/retired', value: 'True' },
      { op: 'add', path: '/protected', value: false },
    );
    expect(retired).toMatchObject({ retired: true, protected: false });
    expect(mistakes({ op: 'add', path: '/retired', value: 'yes' })).toEqual(['retired']);
  });

  it('adds, replaces, tests and removes fields', () => {
    const changed = after(
      { op: 'test', path: '/name', value: 'n1' },
      { op: 'replace', path: '/name', value: 'n2' },
      { op: 'add', path: '/driver_info/redfish_verify_ca', value: false },
      { op: 'remove', path: '/driver_info/redfish_username' },
      { op: 'remove', path: '/resource_class' },
    );
    expect(changed).toMatchObject({ name: 'n2', resource_class: 'baremetal' });
    expect(changed.driver_info).toEqual({
      redfish_address: 'https://10.0.0.7',
      redfish_password: hiddenPassword,
      redfish_verify_ca: false,
    });
  });

  it('changes properties, traits and extra at any depth', () => {
    const changed = after(
      { op: 'add', path: '/properties/capabilities', value: 'profile:control' },
      { op: 'add', path: '/properties/interfaces/0/network', value: 'ctlplane' },
      { op: 'add', path: '/properties/interfaces/-', value: { mac_address: '52:54:00:12:34:57' } },
      { op: 'remove', path: '/properties/cpus' },
      { op: 'add', path: '/traits/-', value: 'CUSTOM_B' },
      { op: 'add', path: '/traits/-', value: 'CUSTOM_B' },
      { op: 'replace', path: '/traits/0', value: 'HW_CPU_X86_VMX' },
      { op: 'add', path: '/extra/rack', value: { row: 1 } },
      { op: 'test', path: '/extra/rack', value: { row: 1 } },
      { op: 'replace', path: '/extra/rack/row', value: 2 },
    );
    expect(changed).toMatchObject({
      traits: ['HW_CPU_X86_VMX', 'CUSTOM_B'],
      extra: { rack: { row: 2 } },
    });
    expect(changed.properties).toEqual({
      capabilities: 'profile:control',
      interfaces: [{ mac_address: '52:54:00:12:34:56', network: 'ctlplane' }, { mac_address: '52:54:00:12:34:57' }],
    });
    expect(after({ op: 'remove', path: '/traits' }, { op: 'remove', path: '/properties' })).toMatchObject({
      traits: [],
      properties: {},
    });
    expect(after()).toEqual(fields);
  });

  it('declares no interface that only the BMC reports and that has no usable address', () => {
    const wwn = { name: 'fc0', mac_address: '21:00:F4:E9:D4:5B:11:22', not_a_port: 'it has 8 octets instead of 6' };
    const usable = { name: 'eth0', mac_address: '52:54:00:12:34:56' };
    const added = { mac_address: '52:54:00:12:34:57' };
    const before = { interfaces: [wwn, usable] };
    expect(declarationAfter({}, before, { interfaces: [wwn, usable, added] })).toEqual({ interfaces: [usable, added] });
  });

  it('declares the properties that the operator changed, and leaves the others to the inspection', () => {
    const before = { cpus: 4, memory_mb: 1024, capabilities: 'a:b' };
    const wanted = { cpus: 8, memory_mb: 1024, rack: 1 };
    expect(declarationAfter({ capabilities: 'a:b', kept: true }, before, wanted)).toEqual({
      cpus: 8,
      rack: 1,
      kept: true,
    });
  });

  it('keeps values in instance_info beside those of the server, which only its stack changes', () => {
    expect(after({ op: 'add', path: '/instance_info/image_source', value: 'http://i/a' })).toMatchObject({
      instance_info: { image_source: 'http://i/a' },
    });
    expect(mistakes({ op: 'replace', path: '/instance_info', value: 'text' })).toEqual(['instance_info']);
    const node = { name: 'n1', instance_id: 's', instance_info: { image: 'debian', user_data: 'x' } };
    const shown = { image: 'debian', user_data: '******' };
    expect(instanceNotesAfter(node, { ...shown, root_gb: 10 })).toEqual({ root_gb: 10 });
    for (const wanted of [{ ...shown, image: 'other' }, { ...shown, user_data: 'y' }, {}])
      expect(() => instanceNotesAfter(node, wanted)).toThrow(expect.objectContaining({ code: 'Conflict' }));
    expect(instanceNotesAfter({ ...node, instance_id: null, instance_info: {} }, { image: 'a' })).toEqual({
      image: 'a',
    });
  });

  it('lists every impossible operation', () => {
    expect(
      mistakes(
        { op: 'add', path: '/provision_state', value: 'active' },
        { op: 'remove', path: '/driver_info/redfish_verify_ca' },
        { op: 'replace', path: '/name' },
        { op: 'test', path: '/name', value: 'other' },
        { op: 'add', path: '/__proto__/x', value: 1 },
        { op: 'add', path: 'name', value: 'x' },
        { op: 'replace', path: '/extra/missing', value: 1 },
        { op: 'add', path: '/traits/3', value: 'CUSTOM_B' },
        { op: 'remove', path: '/traits/-' },
        { op: 'add', path: '/properties/cpus/x', value: 1 },
        { op: 'add', path: '/properties/missing/x', value: 1 },
        { op: 'add', path: '/extra/', value: 1 },
      ),
    ).toEqual(Array.from({ length: 12 }, (_, at) => `[${at}].path`));
  });

  it('refuses a user and password in the address, and does not quote them', () => {
    for (const address of ['https://root:hunter2@10.0.0.7', 'http://hunter2@10.0.0.7/x']) {
      const patch = { op: 'replace' as const, path: '/driver_info/redfish_address', value: address };
      expect(() => after(patch)).toThrow(/redfish_username and redfish_password/);
      expect(() => after(patch)).not.toThrow(/hunter2/);
    }
  });

  it('refuses a name or class that no terminal shows as written', () => {
    for (const value of ['a\u0000b', 'a\nb', '\ud800', ''])
      expect(mistakes({ op: 'replace', path: '/name', value }, { op: 'add', path: '/resource_class', value })).toEqual([
        'name',
        'resource_class',
      ]);
  });

  it('gives a node another driver with an access of its own, and refuses an incomplete one', () => {
    const driver = { op: 'replace' as const, path: '/driver', value: 'ipmi' };
    const address = { op: 'add' as const, path: '/driver_info/ipmi_address', value: '10.0.0.8' };
    expect(after(driver, address)).toMatchObject({ driver: 'ipmi', driver_info: { ipmi_address: '10.0.0.8' } });
    expect(Object.keys(after(driver, address).driver_info)).toEqual(['ipmi_address']);
    expect(mistakes(driver)).toEqual(['driver_info.ipmi_address']);
    expect(mistakes({ ...driver, value: 'snmp' }, address)).toContain('driver');
  });

  it('lists every invalid value', () => {
    expect(
      mistakes(
        { op: 'add', path: '/driver_info/redfish_address', value: 'ftp://10.0.0.7' },
        { op: 'add', path: '/driver_info/ipmi_address', value: 'x' },
        { op: 'add', path: '/maintenance', value: 'yes' },
      ),
    ).toEqual(['maintenance', 'driver_info.redfish_address', 'driver_info']);
    expect(mistakes({ op: 'remove', path: '/driver_info' })).toEqual(['driver_info']);
    expect(
      mistakes(
        { op: 'add', path: '/traits/-', value: 'custom' },
        { op: 'add', path: '/properties', value: [] },
        { op: 'add', path: '/extra/large', value: 'x'.repeat(65_537) },
      ),
    ).toEqual(['traits.1', 'properties', 'extra']);
  });
});
