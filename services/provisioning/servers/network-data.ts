/** The network configuration of a host (`network_data.json` of OpenStack), from what its node declares. Pure. */
import { ipFamily } from '@anneal/contracts/readers/ip.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { nicsOf, type Nic } from '../bmc/declared-properties.ts';

/**
 * Only interfaces that a network is declared for, because a host that waits for DHCP at an unconnected one starts
 * minutes late. Undefined when there is none: cloud-init then asks DHCP at the first connected interface.
 */
export function networkData(properties: JsonObject): JsonObject | undefined {
  const nics = nicsOf(properties).filter((nic) => nic.network !== undefined && nic.mac_address !== undefined);
  if (nics.length === 0) return undefined;
  const links = nics.map((nic, at) => ({
    id: `link${at}`,
    type: 'phy',
    ethernet_mac_address: nic.mac_address ?? '',
    mtu: null,
    vif_id: null,
  }));
  const networks = nics.flatMap((nic, at) => networksOf(nic, `link${at}`));
  const servers = [...new Set(nics.flatMap(({ dns }) => dns))];
  return {
    links,
    networks: networks.map((network, at) => ({ id: `network${at}`, ...network })),
    services: servers.map((address) => ({ type: 'dns', address })),
  };
}

function networksOf({ network = '', addresses, prefix, gateway }: Nic, link: string): JsonObject[] {
  const common = { link, network_id: network };
  if (prefix === undefined || addresses.length === 0) {
    const families = new Set(addresses.map((address) => ipFamily(address)));
    const dhcp = (family: 4 | 6): JsonObject => ({ ...common, type: `ipv${family}_dhcp` });
    return [...(families.size === 0 || families.has(4) ? [dhcp(4)] : []), ...(families.has(6) ? [dhcp(6)] : [])];
  }
  return addresses.map((address) => {
    const family = ipFamily(address) === 6 ? 6 : 4;
    const routes: Json[] =
      gateway !== undefined && ipFamily(gateway) === family
        ? [{ network: family === 4 ? '0.0.0.0' : '::', netmask: family === 4 ? '0.0.0.0' : '::', gateway }]
        : [];
    return { ...common, type: `ipv${family}`, ip_address: address, netmask: netmaskOf(prefix, family), routes };
  });
}

function netmaskOf(prefix: number, family: 4 | 6): string {
  const bits = (from: number, size: number): number => {
    const ones = Math.max(0, Math.min(size, prefix - from));
    return (2 ** size - 1) & ~(2 ** (size - ones) - 1);
  };
  if (family === 4) return [0, 8, 16, 24].map((from) => bits(from, 8)).join('.');
  return [0, 16, 32, 48, 64, 80, 96, 112].map((from) => bits(from, 16).toString(16)).join(':');
}
