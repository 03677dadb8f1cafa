/** Decisions about documents that several requests collect. The documents are written down; no controller is needed. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { describe, expect, it } from 'vitest';
import { readInventory } from './inventory.ts';
import { findSystem } from './system-path.ts';
import { ejectAll, insertImage } from './virtual-media.ts';

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
    const away = { get: () => Promise.reject(Object.assign(new Error('no answer'), { code: 'BmcUnreachable' })) };
    await expect(readInventory(away, system)).rejects.toThrow('no answer');
  });
});

describe('the virtual drive', () => {
  const url = 'http://gateway/boot/secret';
  const refused = (why: string) => new AnnealError('Conflict', why);
  const drive = (id: string, change: Body = {}): Body => ({
    ...link(`/media/${id}`),
    MediaTypes: ['CD'],
    Inserted: false,
    Image: null,
    Actions: {
      '#VirtualMedia.InsertMedia': { target: `/media/${id}/insert` },
      '#VirtualMedia.EjectMedia': { target: `/media/${id}/eject` },
    },
    ...change,
  });
  /** A controller that keeps the image that it gets, unless its drive is stuck. */
  const controller = (documents: Record<string, Body>, stuck = false) => {
    const posted: string[] = [];
    return {
      posted,
      ...serving(documents),
      async patch(path: string, body: unknown) {
        posted.push(`PATCH ${path}`);
        if (!stuck) Object.assign(documents[path] ?? {}, body);
        return { status: 204, body: {} } as never;
      },
      async post(path: string, body: unknown) {
        posted.push(path);
        const [, , id = '', action] = path.split('/');
        const { Image } = body as { Image?: string };
        const change = action === 'insert' ? { Inserted: true, Image } : { Inserted: false, Image: null };
        if (!stuck) Object.assign(documents[`/media/${id}`] ?? {}, change);
        return { status: 204, body: {} } as never;
      },
    };
  };
  const media = (...drives: Body[]): Record<string, Body> => ({
    '/media': { Members: drives.map((each) => link(String(each['@odata.id']))) },
    ...Object.fromEntries(drives.map((each) => [String(each['@odata.id']), each])),
  });
  const own = { VirtualMedia: link('/media') };

  it('of the system is used, else that of a manager; a drive for floppies is not', async () => {
    const floppy = drive('floppy', { MediaTypes: ['Floppy'] });
    const first = controller(media(floppy, drive('cd')));
    expect(await insertImage(first, own, { url, refused })).toBe(true);
    expect(first.posted).toEqual(['/media/cd/insert']);
    const second = controller({ ...media(drive('cd')), '/manager': own });
    await insertImage(second, { Links: { ManagedBy: [link('/manager')] } }, { url, refused });
    expect(second.posted).toEqual(['/media/cd/insert']);
    expect(await insertImage(controller(media(floppy)), own, { url, refused })).toBe(false);
  });

  it('of older firmware without actions is written, and emptied in the same way', async () => {
    const older = controller(media(drive('cd', { Actions: {} })));
    await insertImage(older, own, { url, refused });
    await ejectAll(older, own, refused);
    expect(older.posted).toEqual(['PATCH /media/cd', 'PATCH /media/cd']);
  });

  it('keeps the same image, and loses another one first', async () => {
    const same = controller(media(drive('cd', { Inserted: true, Image: url })));
    await insertImage(same, own, { url, refused });
    expect(same.posted).toEqual([]);
    const other = controller(media(drive('cd', { Inserted: true, Image: 'http://other' })));
    await insertImage(other, own, { url, refused });
    expect(other.posted).toEqual(['/media/cd/eject', '/media/cd/insert']);
    const disconnected = controller(media(drive('cd', { Inserted: true, Image: url, ConnectedVia: 'NotConnected' })));
    await expect(insertImage(disconnected, own, { url, refused })).rejects.toThrow('accepted the image');
    expect(disconnected.posted).toEqual(['/media/cd/insert']);
  });

  it('that reports success and does nothing is refused', async () => {
    await expect(insertImage(controller(media(drive('cd')), true), own, { url, refused })).rejects.toThrow(
      'it accepted the image but the drive contains null',
    );
    const full = controller(media(drive('cd', { Inserted: true, Image: url })), true);
    await expect(ejectAll(full, own, refused)).rejects.toThrow('/media/cd still contains an image');
  });

  it('is emptied wherever it holds an image', async () => {
    const all = controller(media(drive('a', { Inserted: true, Image: 'x' }), drive('b')));
    await ejectAll(all, own, refused);
    expect(all.posted).toEqual(['/media/a/eject']);
  });
});
