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
export function answerAtOnce(
  { stack, resource }: { stack: StackDocument; resource: ResourceDocument },
  secrets: Secrets,
): ResourceResponse | undefined {
  const { request } = resource;
  const type = servedType(resource);
  const behaviour = type === undefined ? undefined : behaviourOf(type);
  const isAdopted = resource.action === 'ADOPT';
  if (!request || !behaviour || !(behaviour.atOnce || isAdopted)) return undefined;
  const { action } = request;
  const asked = requestData(stack, resource);
  const given = { ...asked, action, secrets };
  const result = isAdopted && action === 'create' ? takeOver(behaviour, given) : behaviour.run(given);
  return responseTo(action, asked, result);
}
