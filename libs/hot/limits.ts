/** What an operator limits of a template and all that is nested in it, and by which setting. */

/** As in Heat: the root, and five levels below it. */
export const defaultDepth = 5;

export const limitSettings = {
  maxResources: 'ANNEAL_TEMPLATING_MAX_RESOURCES',
  maxDepth: 'ANNEAL_TEMPLATING_MAX_DEPTH',
} as const;

/** For the end of a refusal. */
export const bySetting = (limit: keyof typeof limitSettings): string => `(the limit is ${limitSettings[limit]})`;

export const tooDeep = (path: string, most: number): string =>
  `RequestLimitExceeded: ${path}: Request limit exceeded: Recursion depth exceeds ${most} ${bySetting('maxDepth')}.`;
