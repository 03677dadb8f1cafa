/** Decisions about documents that several requests collect. The documents are written down; no controller is needed. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { describe, expect, it } from 'vitest';
import { RedfishRefusal } from './conversation/refusal.ts';
import { readInventory } from './inventory.ts';
import { findSystem } from './system-path.ts';

type Body = Record<string, unknown>;
const link = (path: string) => ({ '@odata.id': path });
const listOf = (...paths: string[]) => ({ Members: paths.map(link) });

/** Serves documents by path; any other path is refused as by a controller. */
const serving = (documents: Record<string, Body>) => ({
  async get(path: string) {
    const body = documents[path];
    if (!body) throw Object.assign(new Error(`${path} is missing`), { code: 'BmcRefused' });
    return { status: 200, body } as never;
  },
});

describe('the system of a node', () => {
  const root = { '/redfish/v1/': { Systems: link('/redfish/v1/Systems') } };
  const find = (wanted: string | null, systems: Body) =>
    findSystem(
      serving({ ...root, '/redfish/v1/Systems': systems }),
      wanted,
      (why, fatal) => new AnnealError('Conflict', `${fatal ? 'fatal' : 'passing'}: ${why}`),
    );
  const two = listOf('/redfish/v1/Systems/A1', '/redfish/v1/Systems/1/');

  it('is a given path without a request, a member by its name, or the only member', async () => {
    expect(await findSystem(serving({}), '/redfish/v1/Systems/X', () => new AnnealError('Defect', ''))).toBe(
      '/redfish/v1/Systems/X',
    );
    expect(await find('1', two)).toBe('/redfish/v1/Systems/1/');
    expect(await find('A1', two)).toBe('/redfish/v1/Systems/A1');
    expect(await find(null, listOf('/redfish/v1/Systems/437XR'))).toBe('/redfish/v1/Systems/437XR');
  });

  it.each([
    ['2', two, 'passing: it has no system 2; it has /redfish/v1/Systems/A1, /redfish/v1/Systems/1/'],
    [null, two, 'fatal: it has 2 systems; choose one with redfish_system_id'],
    [null, listOf(), 'passing: it has 0 systems'],
    [null, { Members: 'A1' }, 'passing: /redfish/v1/Systems does not contain a list of Members'],
  ])('%j is refused with the reason in %j', async (wanted, systems, reason) => {
    await expect(find(wanted, systems)).rejects.toThrow(reason);
  });
});

describe('the inventory of a machine', () => {
  it('is in the terms of Ironic', async () => {
    const system = {
      Manufacturer: 'Maker',
      Model: '',
      SerialNumber: 'X7',
      UUID: 'u-1',
      ProcessorSummary: { Count: 2, CoreCount: 32, Model: 'Fast' },
      MemorySummary: { TotalSystemMemoryGiB: 15.5 },
      EthernetInterfaces: link('/nics'),
      Processors: link('/cpus'),
      Storage: link('/storage'),
      Boot: { BootSourceOverrideMode: 'UEFI' },
      Links: { ManagedBy: [link('/bmc')] },
      Status: { Health: 'OK' },
    };
    const documents = {
      '/nics': listOf('/nics/1', '/nics/2'),
      '/nics/1': {
        Id: 'NIC1',
        MACAddress: 'AA:00:00:00:00:01',
        PermanentMACAddress: 'AA:00:00:00:00:99',
        SpeedMbps: 10_000,
        LinkStatus: 'LinkUp',
        IPv4Addresses: [{ Address: '192.0.2.7' }, { Address: '169.254.1.1' }, { Address: '0.0.0.0' }, null],
        IPv6Addresses: [{ Address: 'fe80::1' }, { Address: '2001:db8::7' }, { Address: '::' }],
      },
      '/nics/2': { MACAddress: 'AA:00:00:00:00:02', SpeedMbps: 'fast' },
      '/cpus': listOf('/cpus/gpu', '/cpus/1'),
      '/cpus/gpu': { Id: 'gpu', ProcessorType: 'GPU', Manufacturer: 'Maker', Model: 'G1' },
      '/bmc': { FirmwareVersion: '7.2' },
      '/storage': listOf('/storage/1'),
      '/storage/1': { Id: '1', Name: 'Raid', Drives: [link('/drives/1'), link('/drives/refused')] },
      '/drives/1': {
        Name: 'Disk 1',
        Model: 'D1',
        SerialNumber: 'S1',
        CapacityBytes: 480_000_000_000,
        MediaType: 'HDD',
        Protocol: 'SAS',
      },
      '/cpus/1': { InstructionSet: 'ARM-A64' },
    };
    expect(await readInventory(serving(documents), system)).toEqual({
      manufacturer: 'Maker',
      model: null,
      serial_number: 'X7',
      system_uuid: 'u-1',
      bios_version: null,
      cpus: 32,
      cpu_arch: 'aarch64',
      cpu_model: 'Fast',
      memory_mb: 15_872,
      boot_mode: 'UEFI',
      bmc_firmware: '7.2',
      consoles: [],
      disks: [
        {
          name: 'Disk 1',
          model: 'D1',
          vendor: null,
          serial: 'S1',
          size_bytes: 480_000_000_000,
          media_type: 'HDD',
          protocol: 'SAS',
          rotational: true,
          health: null,
        },
      ],
      storage_controllers: [{ name: 'Raid', id: '1' }],
      accelerators: [{ type: 'GPU', vendor: 'Maker', model: 'G1', name: 'gpu' }],
      interfaces: [
        {
          name: 'NIC1',
          mac_address: 'aa:00:00:00:00:99',
          speed_mbps: 10_000,
          link: 'LinkUp',
          addresses: ['192.0.2.7', '2001:db8::7'],
        },
        { name: '', mac_address: 'aa:00:00:00:00:02', speed_mbps: null, link: null, addresses: [] },
      ],
      health: 'OK',
    });
  });

  it('names the firmware of the BMC where several controllers manage the system', async () => {
    const documents = {
      '/enclosure': { ManagerType: 'EnclosureManager', FirmwareVersion: '1' },
      '/bmc': { ManagerType: 'BMC', FirmwareVersion: '2' },
      '/redfish/v1/': { Managers: link('/managers') },
      '/managers': listOf('/enclosure', '/other', '/bmc'),
      '/other': { ManagerType: 'BMC', FirmwareVersion: '3', Links: { ManagerForServers: [link('/systems/2')] } },
    };
    const named = { Links: { ManagedBy: [link('/enclosure'), link('/bmc')] } };
    for (const system of [named, link('/systems/1')])
      expect(await readInventory(serving(documents), system)).toMatchObject({ bmc_firmware: '2' });
  });

  it('keeps an interface without a usable MAC address as it came, with the reason why it is no port', async () => {
    const nics: Record<string, object> = {
      '/nics/1': { Id: 'wwn', MACAddress: '21:00:F4:E9:D4:5B:11:22' },
      '/nics/2': { Id: 'none', MACAddress: null },
      '/nics/3': { Id: 'zeros', PermanentMACAddress: '00:00:00:00:00:00', MACAddress: '52-54-00-AA-00-02' },
      '/nics/4': { Id: 'bare', MACAddress: '525400AA0003' },
    };
    const documents = { '/nics': listOf(...Object.keys(nics)), ...nics };
    const { interfaces } = await readInventory(serving(documents), { EthernetInterfaces: link('/nics') });
    expect(interfaces).toMatchObject([
      { name: 'wwn', mac_address: '21:00:F4:E9:D4:5B:11:22', not_a_port: expect.stringContaining('8 octets') },
      { name: 'none', mac_address: null, not_a_port: 'the BMC reports no MAC address' },
      { name: 'zeros', mac_address: '52:54:00:aa:00:02' },
      { name: 'bare', mac_address: '52:54:00:aa:00:03' },
    ]);
  });

  it('counts logical processors where the controller reports them', async () => {
    const ProcessorSummary = { LogicalProcessorCount: 64, CoreCount: 32, Count: 2 };
    expect(await readInventory(serving({}), { ProcessorSummary })).toMatchObject({ cpus: 64 });
    expect(await readInventory(serving({}), { ProcessorSummary: { Count: 2 } })).toMatchObject({ cpus: 2 });
  });

  it('adds up the memory of its modules where the controller has no sum', async () => {
    const documents = {
      '/dimms': listOf('/dimms/1', '/dimms/2'),
      '/dimms/1': { CapacityMiB: 8192 },
      '/dimms/2': { CapacityMiB: 4096 },
    };
    expect(await readInventory(serving(documents), { Memory: link('/dimms') })).toMatchObject({ memory_mb: 12_288 });
  });

  it('has gaps where the controller refuses a part, but fails when the controller is away', async () => {
    const system = { EthernetInterfaces: link('/refused'), Processors: link('/refused') };
    expect(await readInventory(serving({}), system)).toMatchObject({ interfaces: [], cpu_arch: null, memory_mb: null });
    const answer = { status: 403, body: {}, problem: undefined, etag: undefined, location: undefined };
    const access = { node: 'n1', address: 'https://bmc', username: null, password: null, trust: true };
    const request = { method: 'GET' as const, url: new URL('https://bmc/refused') };
    const forbidden = new RedfishRefusal(access, request, { ...answer, retryAfterMs: undefined, token: undefined });
    const part = { get: () => Promise.reject(forbidden) };
    expect(await readInventory(part, system)).toMatchObject({ interfaces: [] });
    const away = { get: () => Promise.reject(Object.assign(new Error('no answer'), { code: 'BmcUnreachable' })) };
    await expect(readInventory(away, system)).rejects.toThrow('no answer');
  });
});
