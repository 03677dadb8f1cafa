/**
 * Values, random strings and nothing at all take no time and touch nothing outside, so a step that asks for one is told
 * within itself: no message, no second record. What was drawn by chance is in the record of the step before anyone sees
 * it, and a record that is carried out again does not draw again.
 */
import { isObject } from '@anneal/contracts/json.ts';
import type { ResourceResponse } from '@anneal/contracts/resource.ts';
import type { ResourceDocument, StackDocument } from '@anneal/convergence/documents.ts';
import type { Secrets } from '@anneal/runtime/secrets.ts';
import { responseTo } from './answering.ts';
import { behaviourOf, takeOver } from './behaviours.ts';

const types: ReadonlySet<string> = new Set(['OS::Heat::Value', 'OS::Heat::RandomString', 'OS::Heat::None']);

/** Undefined: its provider has to be asked. */
export function answerAtOnce(
  { stack, resource }: { stack: StackDocument; resource: ResourceDocument },
  secrets: Secrets,
): ResourceResponse | undefined {
  const { request } = resource;
  const isAdopted = resource.action === 'ADOPT';
  if (!request || !(types.has(resource.type) || isAdopted)) return undefined;
  const { action } = request;
  const behaviour = behaviourOf(resource.type);
  if (!behaviour) return undefined;
  const asked = {
    resource: {
      id: resource.id,
      name: resource.name,
      type: resource.type,
      physical_name: resource.physical_name,
    },
    stack: { id: stack.id, name: stack.name },
    traversal: request.traversal,
    fence: request.fence,
    deadline: request.deadline,
    physical_id: resource.physical_id,
    properties: request.properties,
    attributes: resource.attributes,
  };
  const given = { ...asked, action, secrets };
  if (!isAdopted || action !== 'create') return responseTo(action, asked, behaviour.run(given));
  const data = stack.adopt?.[resource.name];
  return responseTo(action, asked, takeOver(behaviour, { ...given, ...(isObject(data) && { adopt: data }) }));
}
