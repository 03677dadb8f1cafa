/** Resources that only operators may have in a stack: those of the identity API. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Occasion } from '@anneal/contracts/origin.ts';

/**
 * Refuses a request that no operator sends, before anything is changed.
 * @param resources the types of the resources that only operators may change, by name
 * @throws AnnealError Forbidden that names all of them
 */
export function requireOperatorFor(
  resources: Readonly<Record<string, string>>,
  { operator }: Pick<Occasion, 'operator'>,
): void {
  const names = Object.keys(resources).join(', ');
  if (operator !== undefined || names === '') return;
  const types = [...new Set(Object.values(resources))].join(', ');
  throw new AnnealError(
    'Forbidden',
    `You are not authorized to use ${types}. Only users with the role admin create or update a stack with ${names}.`,
  );
}
