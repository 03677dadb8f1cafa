/** Parameters that every template may read without asking for them. */
export interface StackIdentity {
  readonly stackName: string;
  /** Empty while the stack is not stored. */
  readonly stackId: string;
  readonly projectId: string;
}

export function pseudoParameters(
  dialect: 'hot' | 'cfn',
  { stackName, stackId, projectId }: StackIdentity,
): Record<string, string> {
  if (dialect === 'hot') {
    return { 'OS::stack_name': stackName, 'OS::stack_id': stackId, 'OS::project_id': projectId };
  }
  // Of a stack that is not stored, Python's word for nothing stands in it.
  const arn = `arn:openstack:heat::${projectId}:stacks/${stackName}/${stackId || 'None'}`;
  return { 'AWS::StackName': stackName, 'AWS::StackId': arn, 'AWS::Region': region };
}

/** What Heat answers, whatever the region is. */
const region = 'ap-southeast-1';
