/**
 * Checks the targets of webhooks. A subscriber must not use this service to reach addresses that only this service can
 * reach: loopback, private and link-local ones. The connection uses the checked address, so a name cannot change in
 * between.
 */
import { isIP } from 'node:net';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isPublic, privateTarget, publicLookupFor } from '@anneal/runtime/network/public-address.ts';

export { isPublic };

const setting = 'ANNEAL_NOTIFICATION_ALLOW_PRIVATE';
const refusal = (name: string, address: string): string => privateTarget(name, address, setting);

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
export const publicLookup = publicLookupFor(setting);
