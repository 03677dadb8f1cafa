/** cloud-init's network configuration of version 2, from OpenStack's `network_data.json`. Pure. */
import { ipFamily } from '@anneal/contracts/readers/ip.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';

const objects = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);
const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '');

export function networkConfig(data: JsonObject): JsonObject {
  const networks = objects(data['networks']);
  const servers = objects(data['services']).map(({ address }) => text(address));
  const ethernets = objects(data['links']).map((link) => {
    const own = networks.filter((network) => network['link'] === link['id']);
    const addresses = own.flatMap(({ ip_address: address, netmask }) =>
      address === undefined ? [] : [`${text(address)}/${prefixOf(text(netmask))}`],
    );
    const routes = own
      .flatMap((network) => objects(network['routes']))
      .map(({ gateway }) => ({ to: ipFamily(text(gateway)) === 6 ? '::/0' : '0.0.0.0/0', via: text(gateway) }));
    const isDhcp = (family: number): boolean => own.some(({ type }) => type === `ipv${family}_dhcp`);
    const config: JsonObject = {
      match: { macaddress: text(link['ethernet_mac_address']) },
      dhcp4: isDhcp(4),
      dhcp6: isDhcp(6),
      ...(addresses.length > 0 && { addresses }),
      ...(routes.length > 0 && { routes }),
      ...(servers.length > 0 && { nameservers: { addresses: servers } }),
    };
    return [text(link['id']), config] as const;
  });
  return { version: 2, ethernets: Object.fromEntries(ethernets) };
}

const onesIn = (bits: string): number => bits.replaceAll('0', '').length;

/** The length of a network from its mask, `255.255.240.0` or `ffff:ffff::`. */
function prefixOf(netmask: string): number {
  const [parts, base] = netmask.includes(':') ? [netmask.split(':'), 16] : [netmask.split('.'), 10];
  return parts.reduce((sum, part) => sum + onesIn((Number.parseInt(part, base) || 0).toString(2)), 0);
}
