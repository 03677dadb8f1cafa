import { describe, expect, it } from 'vitest';
import { render } from '../render.ts';
import { knownTypes } from '../known.ts';

const messages = (type: string, properties: string): string[] => {
  const template = `heat_template_version: rocky\nresources:\n  r: {type: '${type}', properties: ${properties}}\n`;
  const answer = render({ template, stackName: 's', stackId: '', projectId: 'p', types: knownTypes });
  return 'mistakes' in answer ? answer.mistakes.map(({ message }) => message) : [];
};

describe('rules between the properties of a type', () => {
  it.each([
    [
      'OS::Heat::RandomString',
      '{length: 2, character_classes: [{class: letters, min: 3}]}',
      'Length property cannot be',
    ],
    ['OS::Heat::SoftwareComponent', '{configs: [{tool: a}, {tool: b}]}', 'Defining more than one configuration'],
    ['OS::Heat::AutoScalingGroup', '{min_size: 2, max_size: 1, resource: {type: x}}', 'MinSize can not be greater'],
    ['OS::Heat::InstanceGroup', '{AvailabilityZones: [a], Size: 1, LaunchConfigurationName: lc}', '(lc) reference can'],
    [
      'OS::Heat::InstanceGroup',
      '{AvailabilityZones: [a], Size: 1, LaunchConfigurationName: r}',
      'requires a reference',
    ],
    ['OS::Heat::AccessPolicy', '{AllowedResources: [r, s]}', 'AccessPolicy resource s not in stack'],
    ['OS::Mistral::CronTrigger', '{workflow: {name: w}}', 'At least one of the following properties must be specified'],
    ['OS::Mistral::Workflow', '{type: reverse, tasks: [{name: t, action: a}]}', "'task_name' is not assigned"],
    [
      'OS::Aodh::LBMemberHealthAlarm',
      '{pool: p, stack: s, autoscaling_group_id: g}',
      'say replace_lost: {after: SECONDS} for the group in the environment',
    ],
    ['OS::Neutron::Subnet', '{network: n}', 'subnetpool, cidr'],
    ['OS::Neutron::RouterInterface', '{subnet: s}', 'Property router not assigned'],
  ])('%s %s', (type, properties, message) => {
    expect(messages(type, properties)[0]).toContain(message);
  });

  it('apply also to the older name of a property', () => {
    expect(messages('OS::Neutron::RouterInterface', '{subnet_id: s, router_id: r}')).toEqual([]);
  });

  it('wait for unknown values', () => {
    const template = `heat_template_version: rocky
resources:
  a: {type: 'OS::Heat::Value', properties: {value: 1}}
  b: {type: 'OS::Neutron::Subnet', properties: {network: n, cidr: {get_attr: [a, value]}}}
`;
    const answer = render({ template, stackName: 's', stackId: '', projectId: 'p', types: knownTypes });
    expect(answer).toHaveProperty('rendered');
  });
});

describe('a deletion policy of Snapshot', () => {
  it('is accepted if the type supports snapshots', () => {
    const template = (type: string) => `heat_template_version: rocky
resources: {v: {type: '${type}', deletion_policy: Snapshot, properties: {size: 1, value: 1}}}
`;
    const codes = (type: string) => {
      const answer = render({
        template: template(type),
        stackName: 's',
        stackId: '',
        projectId: 'p',
        types: knownTypes,
      });
      return 'mistakes' in answer ? answer.mistakes.map(({ code }) => code) : [];
    };
    expect(codes('OS::Cinder::Volume')).not.toContain('InvalidDeletionPolicy');
    expect(codes('OS::Heat::Value')).toContain('InvalidDeletionPolicy');
  });
});
