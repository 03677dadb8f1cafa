/** Limits that an operator sets for a template and the stacks nested in it, with the setting of each. */

/** As in Heat: the root and five levels below it. */
export const defaultDepth = 5;
/** The resources of a stack and the stacks nested in it. */
export const defaultResources = 20_000;
/** The bytes of a request with a template, its environments and its files. */
export const defaultRequestBytes = 1024 * 1024;

/** Limits of the evaluation of expressions, wherever a template or a workflow is evaluated. */
export interface EvaluationLimits {
  /** The items of a list that `yaql` reads, one by one or at once; -1 is no limit. Heat's limit_iterators. */
  readonly elements: number;
  /** The bytes of a value that `yaql` makes; -1 is no limit. Heat's memory_quota. */
  readonly memory: number;
  /** The values that one stack tree, or one evaluation of a resource or of the outputs, may make and read. */
  readonly work: number;
}

/** As in Heat. The work is several times that of a stack with ten thousand resources; 1 to 2 s of one core. */
export const defaultEvaluation: EvaluationLimits = { elements: 200, memory: 10_000, work: 5_000_000 };

/** The setting of each limit. */
export const limitSettings = {
  elements: 'ANNEAL_YAQL_LIMIT_ITERATORS',
  memory: 'ANNEAL_YAQL_MEMORY_QUOTA',
  work: 'ANNEAL_EVALUATION_WORK',
  maxResources: 'ANNEAL_TEMPLATING_MAX_RESOURCES',
  maxDepth: 'ANNEAL_TEMPLATING_MAX_DEPTH',
} as const;

/** Names the setting at the end of an error message. */
export const bySetting = (limit: keyof typeof limitSettings): string => `(the limit is ${limitSettings[limit]})`;

/** The message for a tree with too many levels. */
export const tooDeep = (path: string, most: number): string =>
  `RequestLimitExceeded: ${path}: Request limit exceeded: Recursion depth exceeds ${most} ${bySetting('maxDepth')}.`;

/** The message for a value of an expression with too many bytes. */
export const tooMuchMemory = (most: number): string =>
  `Expression consumed too much memory: a value has over ${most} bytes ${bySetting('memory')}`;
