/** The hardware inventory of a machine, read from its controller while it may be off, in Ironic's terms. */
import { isObject, type JsonObject } from '@anneal/contracts/json.ts';
import { macProblem, readMac } from '@anneal/contracts/readers/mac.ts';
import type { ShownSettings } from '../bmc/port.ts';
import { consolesIn } from './consoles.ts';
import { linkIn } from './conversation/links.ts';
import { managersOf } from './managers.ts';
import {
  bodyIfShown,
  linkedBodies,
  collectionMembers,
  numberValue,
  textValue,
  within,
  type DocumentReader,
} from './reading.ts';

type Body = Readonly<Record<string, unknown>>;
export async function readInventory(client: DocumentReader, system: Body): Promise<JsonObject> {
  const processors = within(system, 'ProcessorSummary');
  const memory = numberValue(within(system, 'MemorySummary')['TotalSystemMemoryGiB']);
  const dimms = memory === null ? await members(client, linkIn(system, 'Memory')) : [];
  const summed = dimms.reduce((sum, dimm) => sum + (numberValue(dimm['CapacityMiB']) ?? 0), 0);
  const { disks, controllers } = await readStorage(client, system);
  const [bmc = {}] = await managersOf(client, system);
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
      ...addressOf(nic),
      speed_mbps: numberValue(nic['SpeedMbps']),
      link: textValue(nic['LinkStatus']),
      addresses: [...addressesIn(nic, 'IPv4Addresses'), ...addressesIn(nic, 'IPv6Addresses')],
    })),
    health: textValue(within(system, 'Status')['Health']),
  };
}

/** The settings of the BIOS, and the firmware that Ironic knows too. */
export async function readShownSettings(
  client: DocumentReader,
  system: Body,
  detailsOf: (bios: Body) => Promise<NonNullable<ShownSettings['biosDetails']>>,
): Promise<ShownSettings> {
  const [bios = {}] = await linkedBodies(client, [system['Bios']]);
  const biosDetails = await detailsOf(bios);
  const [{ FirmwareVersion: bmc } = {}] = await managersOf(client, system);
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
async function readStorage(
  client: DocumentReader,
  system: Body,
): Promise<{ disks: JsonObject[]; controllers: JsonObject[] }> {
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

/** The first usable MAC address of an interface. Without one: what the controller reports, and why it makes no port. */
function addressOf(nic: Body): JsonObject {
  const reported = ['PermanentMACAddress', 'MACAddress'].flatMap((name) => textValue(nic[name]) ?? []);
  const usable = reported.map(readMac).find((mac) => mac !== undefined);
  if (usable !== undefined) return { mac_address: usable };
  const [first = null] = reported;
  const why = first === null ? undefined : macProblem(first);
  return { mac_address: first, not_a_port: why ?? 'the BMC reports no MAC address' };
}

/** The addresses of an interface, except link-local ones, which are useless beyond the link. */
function addressesIn(nic: Body, name: string): string[] {
  const entries = Array.isArray(nic[name]) ? (nic[name] as readonly (Body | null)[]) : [];
  const found = entries.flatMap((entry) => textValue(entry?.['Address']) ?? []);
  return found.filter((address) => !/^(?:fe80:|169\.254\.|0\.0\.0\.0$|::$)/i.test(address));
}

/** Leaves out parts that a controller does not show, because an inventory with gaps is better than none. */
async function members(client: DocumentReader, path: string | undefined): Promise<Body[]> {
  const found = path === undefined ? undefined : await bodyIfShown(client, path);
  return linkedBodies(client, collectionMembers(found ?? {}));
}

function archOf(processor: Body | undefined): string | null {
  const set = textValue(processor?.['InstructionSet']) ?? '';
  return /x86-64/i.test(set) ? 'x86_64' : /A64/i.test(set) ? 'aarch64' : null;
}
