/** The addresses of a server by network, in the forms of Nova and Heat. Pure. */
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import { nicsOf, type Nic } from '../bmc/declared-properties.ts';

/** The network of a server whose template names none. */
const defaultNetwork = 'baremetal';

export interface ServerAddresses {
  readonly networks: Record<string, string[]>;
  readonly addresses: Record<string, JsonObject[]>;
}

/** The addresses in the facts of an agent, which reports `address` or `addresses`. */
function addressesIn(facts: JsonObject): string[] {
  const list = Array.isArray(facts['addresses']) ? facts['addresses'] : [];
  const all = [facts['address'], facts['ip_address'], facts['HOST_ADDRESS'], ...list].flatMap((value) =>
    typeof value === 'string' ? [value] : isObject(value) && typeof value['addr'] === 'string' ? [value['addr']] : [],
  );
  return [...new Set(all.filter((address) => address !== ''))];
}

interface Attachment {
  readonly network: string;
  readonly fixedIp: string | undefined;
}

/**
 * The addresses by network of the template, in its order. An attachment has its `fixed_ip`; else the addresses of the
 * interface that the node declares for this network; else those that the agent or the BMC reports.
 */
export function serverAddresses(options: {
  /** The property of the server. */
  networks: Json | undefined;
  properties: JsonObject;
  facts: JsonObject;
}): ServerAddresses {
  const nics = nicsOf(options.properties);
  const reported = addressesIn(options.facts);
  const known = new Set(nics.flatMap(({ network, addresses }) => (network === undefined ? [] : addresses)));
  const free = reported.filter((address) => !known.has(address));
  const networks: Record<string, string[]> = {};
  const addresses: Record<string, JsonObject[]> = {};
  for (const [index, { network, fixedIp }] of attachmentsIn(options.networks).entries()) {
    const nic = nics.find((each) => each.network === network) ?? nics[index];
    const found = fixedIp === undefined ? addressesAt({ network, nic, index, free, reported }) : [fixedIp];
    const before = networks[network] ?? [];
    const added = found.filter((address) => !before.includes(address));
    networks[network] = [...before, ...added];
    addresses[network] = [
      ...(addresses[network] ?? []),
      ...added.map((addr) => entryOf(addr, nics.find((each) => each.addresses.includes(addr)) ?? nic)),
    ];
  }
  return { networks, addresses };
}

function addressesAt(at: {
  network: string;
  nic: Nic | undefined;
  index: number;
  free: readonly string[];
  reported: readonly string[];
}): readonly string[] {
  const { network, nic, index, free, reported } = at;
  if (nic?.network === network && nic.addresses.length > 0) return nic.addresses;
  const own = nic?.network === undefined ? (nic?.addresses ?? []) : [];
  const [first, second] = index === 0 ? [free, own] : [own, free];
  // Use one address for all networks, for a machine with a single known interface.
  return [first, second, reported].find((list) => list.length > 0) ?? [];
}

const versionOf = (address: string): number => (address.includes(':') ? 6 : 4);

const entryOf = (addr: string, nic: Nic | undefined): JsonObject => ({
  addr,
  version: versionOf(addr),
  'OS-EXT-IPS:type': 'fixed',
  ...(nic?.mac_address !== undefined && { 'OS-EXT-IPS-MAC:mac_addr': nic.mac_address }),
});

/** The attachments. There is no network service, so an attachment with only a subnet or port uses that name. */
function attachmentsIn(value: Json | undefined): Attachment[] {
  const given = Array.isArray(value) ? value.filter(isObject) : [];
  if (given.length === 0) return [{ network: defaultNetwork, fixedIp: undefined }];
  return given.flatMap((entry) => {
    const text = (name: string): string | undefined => {
      const found = entry[name];
      return typeof found === 'string' && found !== '' ? found : undefined;
    };
    if (text('allocate_network') === 'none') return [];
    const network = text('network') ?? text('uuid') ?? text('subnet') ?? text('port') ?? defaultNetwork;
    return [{ network, fixedIp: text('fixed_ip') }];
  });
}

/** One address of the machine, the first of its first network that has any. */
export const firstAddress = ({ networks }: ServerAddresses, version?: 4 | 6): string =>
  Object.values(networks)
    .flat()
    .find((address) => version === undefined || versionOf(address) === version) ?? '';
