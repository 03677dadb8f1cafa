/**
 * Answers a request within the step that makes it, without a message or a second record, when the work takes no time
 * and touches nothing outside. A random value is in the record of the step before any reader sees it. A record that is
 * carried out again does not draw a new value.
 */
import type { ResourceResponse } from '@anneal/contracts/resource.ts';
import { type ResourceDocument, servedType, type StackDocument } from '@anneal/convergence/documents.ts';
import { responseTo } from '@anneal/provider/document.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import { behaviourOf, takeOver } from './behaviours.ts';
import { requestData } from '../shard/request-data.ts';

/** The answers in the tries of one step. The first try draws a random value, and the later tries find it. */
export type AnsweredAtOnce = Map<string, ResourceResponse>;

/** Returns undefined when the request must be sent to a provider. */
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
