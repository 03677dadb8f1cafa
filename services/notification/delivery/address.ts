/**
 * Checks the targets of webhooks. A subscriber must not use this service to reach addresses that only this service can
 * reach: loopback, private and link-local ones. The connection uses the checked address, so a name cannot change in
 * between.
 */
import { lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { AnnealError } from '@anneal/contracts/errors.ts';
import ipaddr from 'ipaddr.js';

export function isPublic(address: string): boolean {
  // `process` extracts an IPv4 address from an IPv6-mapped one.
  return ipaddr.isValid(address) && ipaddr.process(address).range() === 'unicast';
}

const refusal = (name: string, address: string): string =>
  `${name}${name === address ? '' : ` (${address})`} is not a public address; ANNEAL_NOTIFICATION_ALLOW_PRIVATE=true allows webhooks to private addresses.`;

/** @throws AnnealError InvalidRequest for a URL that no delivery can reach. */
export function checkUrl(text: string, { allowPrivate }: { allowPrivate: boolean }): void {
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new AnnealError(
      'InvalidRequest',
      `The URL of a webhook must begin with http: or https:, not with ${url.protocol}`,
    );
  }
  if (url.username !== '' || url.password !== '') {
    throw new AnnealError(
      'InvalidRequest',
      'The URL of a webhook must not contain a user or password; verify the signature of the webhook instead.',
    );
  }
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (!allowPrivate && ((isIP(host) !== 0 && !isPublic(host)) || host === 'localhost')) {
    throw new AnnealError('InvalidRequest', refusal(host, host));
  }
}

/** A `dns.lookup` that fails when any of the addresses is not public. */
export const publicLookup: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error) return callback(error, '', 0);
    const hidden = addresses.find(({ address }) => !isPublic(address));
    const [first] = addresses;
    if (hidden || !first) {
      return callback(new Error(refusal(hostname, hidden?.address ?? 'no address')), '', 0);
    }
    if (options.all) return (callback as unknown as (error: null, all: typeof addresses) => void)(null, addresses);
    return callback(null, first.address, first.family);
  });
};
