/**
 * The address to which the BMCs of one address report their events. It contains a MAC of the BMCs' address, so a report can
 * only be about the nodes behind it, and no store needs to know the address before.
 */
import type { Secrets } from './secrets.ts';

/** Where BMCs report their events. */
export const bmcEventsPrefix = '/bmc/v1';

const textOf = (address: string): string => `events of the BMC ${address}`;

/** @param gatewayUrl the address of the gateway in the network of the BMCs */
export function bmcEventsUrl(secrets: Pick<Secrets, 'sign'>, gatewayUrl: string, address: string): string {
  const mac = secrets.sign(textOf(address));
  return `${gatewayUrl.replace(/\/$/, '')}${bmcEventsPrefix}/${mac}/${Buffer.from(address).toString('base64url')}`;
}

/** The BMCs' address in such an address; undefined when no key made its MAC. */
export function bmcAddressIn(
  secrets: Pick<Secrets, 'isSigned'>,
  { mac, address: encoded }: { mac: string; address: string },
): string | undefined {
  const address = Buffer.from(encoded, 'base64url').toString('utf8');
  return secrets.isSigned(textOf(address), mac) ? address : undefined;
}
