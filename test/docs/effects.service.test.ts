/**
 * The test that sees each resource type act, from outside: a message, a request at a listener, the size of a group, an object
 * in another API. A type that no test exercises may be complete and do nothing. `test/system/secret-properties` has the same
 * for each property.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { builtInTypes } from '@anneal/hot/served.ts';
import { expect, it } from 'vitest';

const alarms = 'services/notification/measuring/alarms/alarms.service.test.ts';
const groups = 'test/system/nested/groups.test.ts';
const scaling = 'test/system/nested/scaling.test.ts';
const identity = 'test/system/identity-provider.test.ts';
const workflows = 'test/system/workflows.test.ts';
const triggers = 'test/system/workflow-triggers.test.ts';
const hosts = 'test/e2e/deployment-groups.test.ts';
const waits = 'test/system/wait-condition.test.ts';
const nested = 'test/system/nested/nested.test.ts';
const placement = 'test/system/provisioning/placement.test.ts';

/** A file that uses the type, by its name or by the last part of it. */
const seenIn: Readonly<Record<string, string>> = {
  'AWS::AutoScaling::AutoScalingGroup': groups,
  'AWS::AutoScaling::LaunchConfiguration': 'test/system/nested/instance-group.test.ts',
  'AWS::AutoScaling::ScalingPolicy': groups,
  'AWS::CloudFormation::Stack': nested,
  'AWS::CloudFormation::WaitCondition': waits,
  'AWS::CloudFormation::WaitConditionHandle': 'test/e2e/canary/ways.test.ts',
  'AWS::CloudWatch::Alarm': alarms,
  'AWS::IAM::AccessKey': 'test/programs/collectors/push-stats.test.ts',
  'AWS::IAM::User': 'test/programs/collectors/push-stats.test.ts',
  'Anneal::Alarm': alarms,
  'Anneal::AlertmanagerAlarm': 'test/programs/prometheus.test.ts',
  'Anneal::Context': 'test/system/context-follows.test.ts',
  // The test of the pages runs its commands.
  'Anneal::Credential': 'docs/concepts/credentials.md',
  'Anneal::Scaling::Group': scaling,
  'Anneal::Scaling::Schedule': scaling,
  'Anneal::Scaling::StepPolicy': scaling,
  'Anneal::Scaling::TargetPolicy': scaling,
  'Anneal::Workflow::EventTrigger': workflows,
  'OS::Aodh::Alarm': alarms,
  'OS::Aodh::CompositeAlarm': alarms,
  'OS::Aodh::EventAlarm': alarms,
  'OS::Aodh::GnocchiAggregationByMetricsAlarm': alarms,
  'OS::Aodh::GnocchiAggregationByResourcesAlarm': alarms,
  'OS::Aodh::GnocchiResourcesAlarm': alarms,
  'OS::Aodh::PrometheusAlarm': alarms,
  'OS::Ceilometer::Alarm': alarms,
  'OS::Ceilometer::GnocchiAggregationByMetricsAlarm': alarms,
  'OS::Ceilometer::GnocchiAggregationByResourcesAlarm': alarms,
  'OS::Ceilometer::GnocchiResourcesAlarm': alarms,
  'OS::Heat::AutoScalingGroup': groups,
  'OS::Heat::CWLiteAlarm': alarms,
  'OS::Heat::CloudConfig': 'services/configuration/deployments/deployment.service.test.ts',
  'OS::Heat::Delay': 'services/scheduling/provider/provider.service.test.ts',
  'OS::Heat::DeployedServer': 'test/system/joined-hosts.test.ts',
  'OS::Heat::InstanceGroup': 'test/system/nested/instance-group.test.ts',
  'OS::Heat::MultipartMime': 'services/configuration/deployments/deployment.service.test.ts',
  'OS::Heat::None': nested,
  'OS::Heat::OrderedConfig': 'test/system/claims-again.test.ts',
  'OS::Heat::RandomString': 'test/system/actions.test.ts',
  'OS::Heat::ResourceChain': groups,
  'OS::Heat::ResourceGroup': groups,
  'OS::Heat::ScalingPolicy': scaling,
  'OS::Heat::SoftwareComponent': 'test/e2e/blue-green.test.ts',
  'OS::Heat::SoftwareConfig': hosts,
  'OS::Heat::SoftwareDeployment': 'test/e2e/blue-green.test.ts',
  'OS::Heat::SoftwareDeploymentGroup': hosts,
  'OS::Heat::SoftwareDeployments': hosts,
  'OS::Heat::Stack': nested,
  'OS::Heat::StructuredConfig': hosts,
  'OS::Heat::StructuredDeployment': 'services/configuration/deployments/deployment.service.test.ts',
  'OS::Heat::StructuredDeploymentGroup': hosts,
  'OS::Heat::StructuredDeployments': hosts,
  'OS::Heat::TestResource': 'test/system/actions.test.ts',
  'OS::Heat::UpdateWaitConditionHandle': waits,
  'OS::Heat::Value': 'test/system/heat-values.test.ts',
  'OS::Heat::WaitCondition': 'services/scheduling/provider/wait-condition.service.test.ts',
  'OS::Heat::WaitConditionHandle': 'test/system/actions.test.ts',
  'OS::Ironic::Port': placement,
  'OS::Keystone::Domain': identity,
  'OS::Keystone::Endpoint': identity,
  'OS::Keystone::Group': identity,
  'OS::Keystone::GroupRoleAssignment': identity,
  'OS::Keystone::Project': identity,
  'OS::Keystone::Region': identity,
  'OS::Keystone::Role': identity,
  'OS::Keystone::Service': identity,
  'OS::Keystone::User': identity,
  'OS::Keystone::UserRoleAssignment': identity,
  'OS::Marconi::QueueServer': 'services/configuration/queue-server.service.test.ts',
  'OS::Metering::Alarm': alarms,
  'OS::Mistral::CronTrigger': triggers,
  'OS::Mistral::ExternalResource': workflows,
  'OS::Mistral::Workflow': workflows,
  'OS::Nova::Server': 'test/system/withdrawn.test.ts',
  'OS::Nova::ServerGroup': placement,
  'OS::Zaqar::MistralTrigger': triggers,
};

it('a test sees each resource type act', () => {
  const types = builtInTypes.map(({ type }) => type);
  expect(Object.keys(seenIn).toSorted()).toEqual([...new Set(types)].toSorted());
});

it.each(Object.entries(seenIn))('%s is used in %s', (type, file) => {
  const text = readFileSync(join(import.meta.dirname, '../..', file), 'utf8');
  const last = type.split('::').at(-1) ?? type;
  const quoted = [`'${last}'`, `"${last}"`].some((each) => text.includes(each));
  expect(quoted || new RegExp(`${type}(?![:\\w])`).test(text)).toBe(true);
});
