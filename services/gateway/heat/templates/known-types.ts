/** The resource types, as the templating service knows them. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { resourceTypeList } from '@anneal/contracts/calls/templating.ts';
import type { Ask } from '../../ask.ts';

/** The types in the order of their names, shared by all callers. */
export type KnownTypes = () => Promise<readonly ResourceType[]>;

/**
 * Asks for the types each time, because a provider may have announced others; but the long list itself comes only when
 * it has changed.
 */
export function rememberTypes(ask: Ask): KnownTypes {
  let known: { readonly version: string; readonly types: readonly ResourceType[] } | undefined;
  return async () => {
    const data = known ? { known: known.version } : {};
    const { types, version, unchanged } = await ask('templating', resourceTypeList, { data });
    if (unchanged === true && known) return known.types;
    const sorted = types.toSorted((a, b) => (a.type < b.type ? -1 : 1));
    known = version === undefined ? undefined : { version, types: sorted };
    return sorted;
  };
}
