/** The part of a request that is the same for every action. */
import { isObject } from '@anneal/contracts/json.ts';
import type { ResourceRequest } from '@anneal/contracts/resource.ts';
import type { ResourceDocument, StackDocument } from '@anneal/convergence/documents.ts';

/** The data that every request carries about its resource. */
export function requestData(stack: StackDocument, resource: ResourceDocument): ResourceRequest {
  const { request } = resource;
  return {
    resource: {
      id: resource.id,
      name: resource.name,
      type: resource.type,
      physical_name: resource.physical_name,
    },
    stack: { id: stack.id, name: stack.name },
    traversal: request?.traversal ?? stack.traversal,
    fence: resource.fence,
    deadline: request?.deadline ?? stack.deadline ?? stack.created_at,
    physical_id: resource.physical_id,
    properties: request?.properties ?? resource.properties,
    attributes: resource.attributes,
    ...(resource.action === 'ADOPT' && adoptPart(stack, resource)),
  };
}

function adoptPart({ adopt }: StackDocument, { name }: ResourceDocument): Pick<ResourceRequest, 'adopt'> {
  const data = adopt && Object.hasOwn(adopt, name) ? adopt[name] : undefined;
  return isObject(data) ? { adopt: data } : {};
}
