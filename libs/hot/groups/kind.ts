/** The kinds of groups, by how their members are named, created and read. */

/**
 * `numbered`: members 0, 1, 2 …; `chain`: the same, each created after the one before it; `deployments`: one for each
 * server, with the server's name; `scaling` and `instances`: generated names, the oldest is removed first.
 */
export type GroupKind = 'numbered' | 'chain' | 'deployments' | 'scaling' | 'instances';

const kinds: ReadonlyMap<string, GroupKind> = new Map([
  ['OS::Heat::ResourceGroup', 'numbered'],
  ['OS::Heat::ResourceChain', 'chain'],
  ['OS::Heat::SoftwareDeploymentGroup', 'deployments'],
  ['OS::Heat::SoftwareDeployments', 'deployments'],
  ['OS::Heat::StructuredDeploymentGroup', 'deployments'],
  ['OS::Heat::StructuredDeployments', 'deployments'],
  ['OS::Heat::AutoScalingGroup', 'scaling'],
  ['Anneal::Scaling::Group', 'scaling'],
  ['OS::Heat::InstanceGroup', 'instances'],
  ['AWS::AutoScaling::AutoScalingGroup', 'instances'],
]);

/** The types of groups whose size policies may change. */
export const scalingGroupTypes: readonly string[] = [...kinds].flatMap(([type, kind]) =>
  kind === 'scaling' || kind === 'instances' ? [type] : [],
);

/** Undefined when the type is not a group. */
export function groupKind(type: string): GroupKind | undefined {
  return kinds.get(type);
}

/** True for a numbered group and for a group that scales: labels and commands name it and its members. */
export function hasMembers(type: string): boolean {
  const kind = groupKind(type);
  return kind === 'numbered' || kind === 'scaling' || kind === 'instances';
}

const plurals: ReadonlyMap<string, string> = new Map([
  ['deploy_stdouts', 'deploy_stdout'],
  ['deploy_stderrs', 'deploy_stderr'],
  ['deploy_status_codes', 'deploy_status_code'],
]);

/** Name at each member for an attribute of a group of deployments. */
export function memberAttribute(attribute: string): string {
  return plurals.get(attribute) ?? attribute;
}
