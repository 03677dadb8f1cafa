/** Limits that an operator sets for a template and the stacks nested in it, with the setting of each. */

/** As in Heat: the root and five levels below it. */
export const defaultDepth = 5;
/** The resources of a stack and the stacks nested in it. */
export const defaultResources = 20_000;
/** The bytes of a request with a template, its environments and its files. */
export const defaultRequestBytes = 1024 * 1024;

/** The setting of each limit. */
export const limitSettings = {
  maxResources: 'ANNEAL_TEMPLATING_MAX_RESOURCES',
  maxDepth: 'ANNEAL_TEMPLATING_MAX_DEPTH',
} as const;
/** The setting of the bytes of a request. */
export const requestSetting = 'ANNEAL_GATEWAY_BODY_LIMIT';

/** Names the setting at the end of an error message. */
export const bySetting = (limit: keyof typeof limitSettings): string => `(the limit is ${limitSettings[limit]})`;

/** The message for a tree with too many levels. */
export const tooDeep = (path: string, most: number): string =>
  `RequestLimitExceeded: ${path}: Request limit exceeded: Recursion depth exceeds ${most} ${bySetting('maxDepth')}.`;
