/** The addresses of listeners, which must be public unless the operator allows others. */
import { privateTarget, publicLookupFor } from '@anneal/runtime/network/public-address.ts';

const setting = 'ANNEAL_NOTIFICATION_ALLOW_PRIVATE';

/** The refusal of an address. */
export const notPublic = (name: string, address: string): string => privateTarget(name, address, setting);

/** A `dns.lookup` that fails when any of the addresses is not public. */
export const publicLookup = publicLookupFor(setting);
