/** Every type with a built-in schema, for work without a server. A server accepts the types that providers announce. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { builtInTypes } from './served.ts';
import { unservedTypes } from './types/unserved.ts';

/** All types, each once, with the schemas that Anneal's own providers announce. */
export const knownTypes: readonly ResourceType[] = [...builtInTypes, ...unservedTypes];
