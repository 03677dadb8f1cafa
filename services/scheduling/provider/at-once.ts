/**
 * What takes no time and touches nothing outside is told within the step that asks for it: no message, no second record.
 * What was drawn by chance is in the record of the step before anyone sees it, and a record that is carried out again does
 * not draw again.
 */
import type { ResourceResponse } from '@anneal/contracts/resource.ts';
import { type ResourceDocument, servedType, type StackDocument } from '@anneal/convergence/documents.ts';
import type { Secrets } from '@anneal/runtime/secrets.ts';
import { requestData } from '../request-envelope.ts';
import { responseTo } from './answering.ts';
import { behaviourOf, takeOver } from './behaviours.ts';

/** Undefined: its provider has to be asked. */
/** What the tries of one step have answered: a random value is made in the first one, and the others find it. */
export type AnsweredAtOnce = Map<string, ResourceResponse>;

export function answerAtOnce(
  { stack, resource }: { stack: StackDocument; resource: ResourceDocument },
  { secrets, answered }: { secrets: Secrets; answered: AnsweredAtOnce },
): ResourceResponse | undefined {
  const { request } = resource;
  const type = servedType(resource);
  const behaviour = type === undefined ? undefined : behaviourOf(type);
  const isAdopted = resource.action === 'ADOPT';
  if (!request || !behaviour || !(behaviour.atOnce || isAdopted)) return undefined;
  const { action } = request;
  const key = `${resource.id} ${request.fence}`;
  const before = answered.get(key);
  if (before) return before;
  const asked = requestData(stack, resource);
  const given = { ...asked, action, secrets };
  const result = isAdopted && action === 'create' ? takeOver(behaviour, given) : behaviour.run(given);
  const response = responseTo(action, asked, result);
  answered.set(key, response);
  return response;
}
