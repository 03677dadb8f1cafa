/**
 * Addresses that a controller gives: links of its documents, `Location`, targets of actions, redirects. Pure.
 *
 * L1 Credentials go only to the origin of the controller's own address. `ownUrl` is the only way from such an address to a
 *    request, and it refuses another origin by name.
 */
import { ownAddress, placeOfAddress } from '@anneal/contracts/readers/given-address.ts';
import { BmcError } from '../../bmc/bmc-error.ts';

/** The controller that gave an address. */
export interface Giver {
  /** The node, which the error names. */
  readonly node: string;
  readonly address: string;
}

/** The address behind `@odata.id`, at the end of a path of properties. */
export function linkIn(body: unknown, ...path: string[]): string | undefined {
  let value: unknown = body;
  for (const key of [...path, '@odata.id']) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Record<string, unknown>)[key];
  }
  return typeof value === 'string' ? value : undefined;
}

/** An address that a controller gave leads to another origin. */
export class ForeignAddress extends BmcError {
  constructor(giver: Giver, why: string) {
    const { node, address } = giver;
    super('BmcMisconfigured', `The BMC of node ${node} at ${address} ${why}`, {
      repeat: 'never',
      details: { node, url: address },
    });
  }
}

/**
 * The URL of an address that the controller gave.
 * @param what names the address in the error: `the target of #ComputerSystem.Reset`
 * @param from the URL that a relative address belongs to; absent: the address of the controller
 * @throws ForeignAddress for another origin, or for text that is no address
 */
export function ownUrl(giver: Giver, given: string, { what, from }: { what: string; from?: URL | undefined }): URL {
  const own = new URL(giver.address);
  const url = ownAddress(own, given, from);
  if (url) return url;
  const place = URL.canParse(given, (from ?? own).href)
    ? `at ${placeOfAddress(given, from ?? own)}, which is not the origin ${own.origin} of this BMC`
    : 'which is no address';
  throw new ForeignAddress(
    giver,
    `names ${what} as ${JSON.stringify(given.slice(0, 200))}, ${place}. Nothing was sent there, because credentials go ` +
      'only to their own BMC. If the BMC has that address too, set redfish_address to it.',
  );
}

/** Whether an address leads to the controller itself, for documents that may be elsewhere. */
export function isOwn(giver: Pick<Giver, 'address'>, given: string): boolean {
  return ownAddress(new URL(giver.address), given) !== undefined;
}
