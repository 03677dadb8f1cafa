import type { Target } from '@anneal/convergence/documents.ts';

/** Picks the target of a traversal out of an answer or a question that has more fields. */
export function targetOf(
  { plan, template, environment, files, sources, description }: Omit<Target, 'revision'>,
  revision: string,
): Target {
  return { revision, plan, template, environment, files, ...(sources !== undefined && { sources }), description };
}
