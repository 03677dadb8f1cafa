/** The hardware inventory of a machine, read from its controller while it may be off, in Ironic's terms. */
import { isObject, type JsonObject } from '@anneal/contracts/json.ts';
import type { ShownSettings } from '../bmc/port.ts';
import { consolesIn } from './consoles.ts';
import { linkIn, type Answer } from './http.ts';

type Body = Readonly<Record<string, unknown>>;
interface Client {
  get(path: string): Promise<Answer>;
}

export const textValue = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);
export const numberValue = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? value : null;
export const within = (body: Body, name: string): Body => (body[name] ?? {}) as Body;

export async function readInventory(client: Client, system: Body): Promise<JsonObject> {
  const processors = within(system, 'ProcessorSummary');
  const memory = numberValue(within(system, 'MemorySummary')['TotalSystemMemoryGiB']);
  const dimms = memory === null ? await members(client, linkIn(system, 'Memory')) : [];
  const summed = dimms.reduce((sum, dimm) => sum + (numberValue(dimm['CapacityMiB']) ?? 0), 0);
  const { disks, controllers } = await readStorage(client, system);
  const bmc = await readManager(client, system);
  const [network = {}] = await linkedBodies(client, [bmc['NetworkProtocol']]);
  const nics = await members(client, linkIn(system, 'EthernetInterfaces'));
  const cpus = await members(client, linkIn(system, 'Processors'));
  return {
    manufacturer: textValue(system['Manufacturer']),
    model: textValue(system['Model']),
    serial_number: textValue(system['SerialNumber']),
    system_uuid: textValue(system['UUID']),
    bios_version: textValue(system['BiosVersion']),
    cpus:
      numberValue(processors['LogicalProcessorCount']) ??
      numberValue(processors['CoreCount']) ??
      numberValue(processors['Count']),
    cpu_arch: archOf(cpus.find((each) => !isAccelerator(each))),
    cpu_model: textValue(processors['Model']),
    memory_mb: memory !== null ? Math.round(memory * 1024) : summed > 0 ? summed : null,
    boot_mode: textValue(within(system, 'Boot')['BootSourceOverrideMode']),
    bmc_firmware: textValue(bmc['FirmwareVersion']),
    consoles: consolesIn(system, { manager: bmc, network }),
    disks,
    storage_controllers: controllers,
    accelerators: cpus.filter(isAccelerator).map((each) => ({
      type: textValue(each['ProcessorType']),
      vendor: textValue(each['Manufacturer']),
      model: textValue(each['Model']),
      name: textValue(each['Id']),
    })),
    interfaces: nics.map((nic) => ({
      name: textValue(nic['Id']) ?? '',
      mac_address: (textValue(nic['PermanentMACAddress']) ?? textValue(nic['MACAddress']) ?? '').toLowerCase(),
      speed_mbps: numberValue(nic['SpeedMbps']),
      link: textValue(nic['LinkStatus']),
      addresses: [...addressesIn(nic, 'IPv4Addresses'), ...addressesIn(nic, 'IPv6Addresses')],
    })),
    health: textValue(within(system, 'Status')['Health']),
  };
}

/** The settings of the BIOS, and the firmware that Ironic knows too. */
export async function readShownSettings(
  client: Client,
  system: Body,
  detailsOf: (bios: Body) => Promise<NonNullable<ShownSettings['biosDetails']>>,
): Promise<ShownSettings> {
  const [bios = {}] = await linkedBodies(client, [system['Bios']]);
  const biosDetails = await detailsOf(bios);
  const { FirmwareVersion: bmc } = await readManager(client, system);
  const versions = { bios: textValue(system['BiosVersion']), bmc: textValue(bmc) };
  return {
    bios: isObject(bios['Attributes']) ? bios['Attributes'] : {},
    ...(Object.keys(biosDetails).length > 0 && { biosDetails }),
    firmware: Object.fromEntries(
      Object.entries(versions).flatMap(([component, version]) => (version === null ? [] : [[component, version]])),
    ),
  };
}

const accelerators = new Set(['GPU', 'FPGA', 'Accelerator', 'DSP']);
const isAccelerator = ({ ProcessorType: type }: Body): boolean => typeof type === 'string' && accelerators.has(type);

/** Disks and storage controllers. The path of a disk is not shown, because only the BMC knows it. */
async function readStorage(client: Client, system: Body): Promise<{ disks: JsonObject[]; controllers: JsonObject[] }> {
  const disks: JsonObject[] = [];
  const controllers: JsonObject[] = [];
  for (const storage of await members(client, linkIn(system, 'Storage'))) {
    controllers.push({ name: textValue(storage['Name']), id: textValue(storage['Id']) });
    const links = Array.isArray(storage['Drives']) ? (storage['Drives'] as unknown[]) : [];
    for (const drive of await linkedBodies(client, links)) {
      disks.push({
        name: textValue(drive['Name']) ?? textValue(drive['Id']),
        model: textValue(drive['Model']),
        vendor: textValue(drive['Manufacturer']),
        serial: textValue(drive['SerialNumber']),
        size_bytes: numberValue(drive['CapacityBytes']),
        media_type: textValue(drive['MediaType']),
        protocol: textValue(drive['Protocol']),
        rotational: drive['MediaType'] === 'HDD',
        health: textValue(within(drive, 'Status')['Health']),
      });
    }
  }
  return { disks, controllers };
}

/** The controller that manages the system. Empty when the BMC names none. */
async function readManager(client: Client, system: Body): Promise<Body> {
  const { ManagedBy: managers } = within(system, 'Links');
  return (await linkedBodies(client, Array.isArray(managers) ? managers.slice(0, 1) : []))[0] ?? {};
}

/** The addresses of an interface, except link-local ones, which are useless beyond the link. */
function addressesIn(nic: Body, name: string): string[] {
  const entries = Array.isArray(nic[name]) ? (nic[name] as readonly (Body | null)[]) : [];
  const found = entries.flatMap((entry) => textValue(entry?.['Address']) ?? []);
  return found.filter((address) => !/^(?:fe80:|169\.254\.|0\.0\.0\.0$|::$)/i.test(address));
}

/** Leaves out parts that a controller does not show, because an inventory with gaps is better than none. */
async function members(client: Client, path: string | undefined): Promise<Body[]> {
  const found = path === undefined ? undefined : (await bodyIfShown(client, path))?.['Members'];
  return linkedBodies(client, Array.isArray(found) ? found : []);
}

const mostMembers = 32;
const isBmcRefusal = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'BmcRefused';

/** A resource, or undefined when the controller refuses it. */
export async function bodyIfShown(client: Client, path: string): Promise<Body | undefined> {
  try {
    return (await client.get(path)).body;
  } catch (error) {
    if (isBmcRefusal(error)) return undefined;
    throw error;
  }
}

/** The resources behind links, without those that the controller refuses. */
export async function linkedBodies(
  client: Client,
  links: readonly unknown[],
  most: number = mostMembers,
): Promise<Body[]> {
  const found: Body[] = [];
  for (const link of links.slice(0, most)) {
    const address = linkIn(link);
    const body = address === undefined ? undefined : await bodyIfShown(client, address);
    if (body) found.push(body);
  }
  return found;
}

function archOf(processor: Body | undefined): string | null {
  const set = textValue(processor?.['InstructionSet']) ?? '';
  return /x86-64/i.test(set) ? 'x86_64' : /A64/i.test(set) ? 'aarch64' : null;
}
