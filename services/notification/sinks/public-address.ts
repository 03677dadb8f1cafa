/**
 * Checks the addresses of listeners. A subscriber must not use this service to reach addresses that only this service can
 * reach: loopback, private and link-local ones. The connection uses the checked address, so a name cannot change in
 * between.
 */
import { lookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';

export function isPublic(address: string): boolean {
  // `process` extracts an IPv4 address from an IPv6-mapped one.
  return ipaddr.isValid(address) && ipaddr.process(address).range() === 'unicast';
}

/** The refusal of an address. */
export const notPublic = (name: string, address: string): string =>
  `${name}${name === address ? '' : ` (${address})`} is not a public address; ANNEAL_NOTIFICATION_ALLOW_PRIVATE=true allows webhooks to private addresses.`;

/** A `dns.lookup` that fails when any of the addresses is not public. */
export const publicLookup: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error) return callback(error, '', 0);
    const hidden = addresses.find(({ address }) => !isPublic(address));
    const [first] = addresses;
    if (hidden || !first) {
      return callback(new Error(notPublic(hostname, hidden?.address ?? 'no address')), '', 0);
    }
    if (options.all) return (callback as unknown as (error: null, all: typeof addresses) => void)(null, addresses);
    return callback(null, first.address, first.family);
  });
};
