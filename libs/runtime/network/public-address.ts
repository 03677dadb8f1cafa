/**
 * Checks the targets of requests that a user asks this system to send. A user must not reach addresses that only this
 * service can reach: loopback, private and link-local ones. The connection uses the checked address, so a name cannot
 * change in between.
 */
import { lookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';

/** True for an address that is not loopback, private or link-local. */
export function isPublic(address: string): boolean {
  // `process` extracts an IPv4 address from an IPv6-mapped one.
  return ipaddr.isValid(address) && ipaddr.process(address).range() === 'unicast';
}

/** The reason why a target is refused, with the setting that allows it. */
export const privateTarget = (name: string, address: string, setting: string): string =>
  `${name}${name === address ? '' : ` (${address})`} is not a public address; ${setting}=true allows it.`;

/** A `dns.lookup` that fails when any of the addresses is not public. The error names the setting. */
export const publicLookupFor =
  (setting: string): LookupFunction =>
  (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, '', 0);
      const hidden = addresses.find(({ address }) => !isPublic(address));
      const [first] = addresses;
      if (hidden || !first) {
        return callback(new Error(privateTarget(hostname, hidden?.address ?? 'no address', setting)), '', 0);
      }
      if (options.all) return (callback as unknown as (error: null, all: typeof addresses) => void)(null, addresses);
      return callback(null, first.address, first.family);
    });
  };
