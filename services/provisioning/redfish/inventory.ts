/** The hardware inventory of a machine, read from its controller while it may be off, in Ironic's terms. */
import type { JsonObject } from '@anneal/contracts/json.ts';
import { linkIn, type Answer } from './http.ts';

type Body = Readonly<Record<string, unknown>>;
interface Client {
  get(path: string): Promise<Answer>;
}

const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);
const number = (value: unknown): number | null => (typeof value === 'number' && Number.isFinite(value) ? value : null);
const within = (body: Body, name: string): Body => (body[name] ?? {}) as Body;

export async function readInventory(client: Client, system: Body): Promise<JsonObject> {
  const processors = within(system, 'ProcessorSummary');
  const memory = number(within(system, 'MemorySummary')['TotalSystemMemoryGiB']);
  const nics = await members(client, linkIn(system, 'EthernetInterfaces'));
  const cpus = await members(client, linkIn(system, 'Processors'));
  return {
    manufacturer: text(system['Manufacturer']),
    model: text(system['Model']),
    serial_number: text(system['SerialNumber']),
    system_uuid: text(system['UUID']),
    bios_version: text(system['BiosVersion']),
    cpus: number(processors['LogicalProcessorCount']) ?? number(processors['CoreCount']) ?? number(processors['Count']),
    cpu_arch: archOf(cpus[0]),
    cpu_model: text(processors['Model']),
    memory_mb: memory === null ? null : Math.round(memory * 1024),
    interfaces: nics.map((nic) => ({
      name: text(nic['Id']) ?? '',
      mac_address: (text(nic['PermanentMACAddress']) ?? text(nic['MACAddress']) ?? '').toLowerCase(),
      speed_mbps: number(nic['SpeedMbps']),
      link: text(nic['LinkStatus']),
      addresses: [...addressesIn(nic, 'IPv4Addresses'), ...addressesIn(nic, 'IPv6Addresses')],
    })),
    health: text(within(system, 'Status')['Health']),
  };
}

/** The addresses of an interface, except link-local ones, which are useless beyond the link. */
function addressesIn(nic: Body, name: string): string[] {
  const entries = Array.isArray(nic[name]) ? (nic[name] as readonly (Body | null)[]) : [];
  const found = entries.flatMap((entry) => text(entry?.['Address']) ?? []);
  return found.filter((address) => !/^(?:fe80:|169\.254\.|0\.0\.0\.0$|::$)/i.test(address));
}

/** Leaves out parts that a controller does not show, because an inventory with gaps is better than none. */
async function members(client: Client, path: string | undefined): Promise<Body[]> {
  if (path === undefined) return [];
  try {
    const { body } = await client.get(path);
    const found: Body[] = [];
    for (const member of Array.isArray(body['Members']) ? body['Members'].slice(0, 32) : []) {
      const address = linkIn(member);
      if (address !== undefined) found.push((await client.get(address)).body);
    }
    return found;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'BmcRefused') return [];
    throw error;
  }
}

function archOf(processor: Body | undefined): string | null {
  const set = text(processor?.['InstructionSet']) ?? '';
  return /x86-64/i.test(set) ? 'x86_64' : /A64/i.test(set) ? 'aarch64' : null;
}
