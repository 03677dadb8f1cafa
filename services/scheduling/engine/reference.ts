/**
 * The value of `get_resource` for a nested stack, as in Heat:
 *
 * | declared as                                 | reference                                                    |
 * | ------------------------------------------- | ------------------------------------------------------------ |
 * | a template                                  | its output `OS::stack_id`, else the name of its stack as ARN |
 * | AWS::CloudFormation::Stack                  | the name of its stack as ARN                                 |
 * | InstanceGroup, AutoScalingGroup of AWS      | the name of its stack; scaling policies use this name        |
 * | any other group or chain, OS::Heat::Stack   | the id of its stack                                          |
 */
import type { Json } from '@anneal/contracts/json.ts';
import { isNested, type ResourceDocument } from '@anneal/convergence/documents.ts';
import { groupKind } from '@anneal/hot/groups/kind.ts';

/** The output by which a template defines its own reference. */
const ownReference = 'OS::stack_id';

/** Returns undefined when the rule for all other resources applies. */
export function nestedReference(resource: ResourceDocument, project: string): Json | undefined {
  const { type, nested, attributes, physical_id: id, physical_name: name } = resource;
  if (!isNested(resource) || id === null) return undefined;
  if (nested === 'group' && groupKind(type) === 'instances') return name;
  const said = Object.hasOwn(attributes, ownReference) ? attributes[ownReference] : undefined;
  if (nested === 'template' && said !== undefined && said !== null) return said;
  const isNamed = nested === 'template' || (nested === 'stack' && type === 'AWS::CloudFormation::Stack');
  return isNamed ? `arn:openstack:heat::${project}:stacks/${name}/${id}` : undefined;
}
