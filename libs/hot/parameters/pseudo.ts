/** Parameters that every template can read without declaring them. */
export interface StackIdentity {
  readonly stackName: string;
  /** Empty while the stack is not stored. */
  readonly stackId: string;
  readonly projectId: string;
}

/** Their values. The id is empty while the stack is not stored. */
export function pseudoParameters(
  dialect: 'hot' | 'cfn',
  { stackName, stackId, projectId }: StackIdentity,
): Record<string, string> {
  if (dialect === 'hot') {
    return { 'OS::stack_name': stackName, 'OS::stack_id': stackId, 'OS::project_id': projectId };
  }
  // Before the stack is stored its id is Python's None.
  const arn = `arn:openstack:heat::${projectId}:stacks/${stackName}/${stackId || 'None'}`;
  return { 'AWS::StackName': stackName, 'AWS::StackId': arn, 'AWS::Region': region };
}

/** Heat always returns this value, whatever the region is. */
const region = 'ap-southeast-1';
