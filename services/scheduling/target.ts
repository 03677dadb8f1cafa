import type { Target } from '@anneal/convergence/documents.ts';

/** What a traversal goes towards, out of an answer or a question that says more. */
export function targetOf(
  { plan, template, environment, files, description }: Omit<Target, 'revision'>,
  revision: string,
): Target {
  return { revision, plan, template, environment, files, description };
}
