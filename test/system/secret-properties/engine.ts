/** Values, waits, groups, stacks, policies and workflows. */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { seenIn, type TypeEntry } from './entry.ts';

const groups = 'test/system/nested/groups.test.ts';
const scaling = 'test/system/nested/scaling.test.ts';
const instances = 'test/system/nested/instance-group.test.ts';
const workflows = 'test/system/workflows.test.ts';
const triggers = 'test/system/workflow-triggers.test.ts';
const waits = 'test/system/wait-condition.test.ts';
const numbers = 'libs/hot/groups/groups.test.ts';

const ref = (name: string): JsonObject => ({ get_resource: name });
const none = (properties: JsonObject = {}): JsonObject => ({ type: 'OS::Heat::None', properties });
const member = { type: 'OS::Heat::TestResource', properties: { value: '@' }, metadata: { a: '@' } };
const rolling = { min_in_service: 1, max_batch_size: 2, pause_time: 1 };
const tags = [{ Key: '@', Value: '@' }];
const task: JsonObject = {
  name: 'one',
  action: 'std.http',
  description: '@',
  input: { url: 'http://example.org/@', body: '<% $.a %>' },
  publish: { p: '@' },
  on_success: ['two'],
  on_error: ['two'],
  on_complete: ['three'],
  retry: { count: 2, delay: 1 },
  wait_before: 1,
  wait_after: 1,
  pause_before: true,
  timeout: 30,
  keep_result: false,
};
const tasks: Json = [
  task,
  { name: 'two', action: 'std.noop', join: 'one', policies: { timeout: 9 } },
  { name: 'three', action: 'std.noop', with_items: 'x in <% [1, 2] %>' },
  { name: 'four', action: 'std.noop', with_items: 'x in <% [1, 2] %>', concurrency: 1 },
];

/** A template with one parameter, as a text. */
const template = `heat_template_version: 2021-04-16
parameters: {a: {type: string, default: d}}
resources: {r: {type: 'OS::Heat::TestResource', properties: {value: {get_param: a}}}}
outputs: {o: {value: {get_attr: [r, output]}}}`;

const scaled: TypeEntry = {
  base: { resource: none(), min_size: 1, max_size: 4 },
  values: {
    resource: member,
    min_size: 2,
    max_size: 0,
    cooldown: 30,
    desired_capacity: 3,
    rolling_updates: rolling,
  },
  with: { max_size: { min_size: 0, desired_capacity: 0 } },
  seen: {
    ...seenIn(
      groups,
      'max_size rolling_updates rolling_updates.min_in_service rolling_updates.max_batch_size rolling_updates.pause_time',
    ),
    ...seenIn(scaling, 'cooldown'),
  },
};

const steps: Json = [{ lower: 0, adjustment: 1 }];
const policyOf = (group: string, values: JsonObject): TypeEntry => ({
  base: { [group]: ref('group'), scaling_adjustment: 1, adjustment_type: 'change_in_capacity' },
  values: { [group]: ref('group'), ...values },
  with: { min_adjustment_step: { adjustment_type: 'percent_change_in_capacity' } },
  signal: {},
  seen: { ...seenIn(groups, `${group} scaling_adjustment adjustment_type`), ...seenIn(scaling, 'cooldown') },
});

export const innerTemplate = template;

export const others: JsonObject = {
  group: { type: 'OS::Heat::AutoScalingGroup', properties: { resource: none(), min_size: 1, max_size: 4 } },
  handle: { type: 'OS::Heat::WaitConditionHandle' },
  awshandle: { type: 'AWS::CloudFormation::WaitConditionHandle' },
  launch: { type: 'AWS::AutoScaling::LaunchConfiguration', properties: {} },
  flow: {
    type: 'OS::Mistral::Workflow',
    properties: { type: 'direct', input: { a: null }, tasks: [{ name: 'one', action: 'std.noop' }] },
  },
};

export const engineEntries: Readonly<Record<string, TypeEntry>> = {
  'OS::Heat::Value': { base: { value: '5' }, values: { value: ['@'], type: 'number' } },
  'OS::Heat::RandomString': {
    base: { length: 4, character_classes: [{ class: 'digits', min: 1 }] },
    values: {
      length: 3,
      character_classes: [{ class: 'uppercase', min: 2 }],
      character_sequences: [{ sequence: '#', min: 3 }],
      salt: '@',
      sequence: 'uppercase',
    },
    seen: {
      ...seenIn('services/scheduling/behaviour.service.test.ts', 'salt'),
      ...seenIn(
        'services/scheduling/provider/provider.service.test.ts',
        'character_classes[].min character_sequences[].min character_sequences[].sequence',
      ),
    },
  },
  'OS::Heat::None': { values: {} },
  'OS::Heat::TestResource': {
    values: {
      value: '@',
      update_replace: true,
      update_replace_value: '@',
      fail: false,
      wait_secs: 0.1,
      action_wait_secs: { create: 0.1 },
      attr_wait_secs: 0.1,
      constraint_prop_secs: 0.1,
      client_name: '@',
      entity_name: '@',
    },
    seen: {
      ...seenIn('services/scheduling/provider/provider.service.test.ts', 'update_replace'),
      ...seenIn('test/system/actions.test.ts', 'update_replace_value fail'),
      ...seenIn(
        'services/scheduling/provider/provider.service.test.ts',
        'action_wait_secs.update action_wait_secs.delete',
      ),
    },
  },
  'OS::Heat::Delay': {
    base: {},
    values: { min_wait: 0.1, max_jitter: 0.1, jitter_multiplier: 0, actions: ['DELETE'] },
    with: { jitter_multiplier: { max_jitter: 0.1 }, actions: { min_wait: 0.1 } },
  },
  'OS::Heat::ResourceGroup': {
    base: { resource_def: none() },
    values: {
      count: 3,
      index_var: '%i%',
      resource_def: member,
      removal_policies: [{ resource_list: ['0'] }],
      removal_policies_mode: 'update',
    },
    with: { index_var: { resource_def: { ...member, properties: { value: 'n-%i%' } } } },
    seen: { ...seenIn(numbers, 'removal_policies_mode'), ...seenIn(groups, 'resource_def.type') },
  },
  'OS::Heat::ResourceChain': {
    base: { resources: ['OS::Heat::TestResource', 'OS::Heat::TestResource'] },
    values: { resources: ['OS::Heat::None'], concurrent: true, resource_properties: { value: '@' } },
    seen: seenIn(groups, 'concurrent'),
  },
  'OS::Heat::AutoScalingGroup': scaled,
  'Anneal::Scaling::Group': {
    ...scaled,
    values: {
      ...scaled.values,
      victims: 'newest',
      deciding: { heartbeat_timeout: 30 },
      replace_lost: { after: 30 },
      warm_pool: { size: 1 },
    },
    seen: {
      ...scaled.seen,
      ...seenIn(
        scaling,
        'victims deciding deciding.heartbeat_timeout deciding.default_result deciding.metadata replace_lost replace_lost.after replace_lost.min_in_service replace_lost.node_faults',
      ),
      ...seenIn('libs/convergence/resources/hook.test.ts', 'deciding.global_timeout'),
    },
  },
  'OS::Heat::Stack': {
    base: { template },
    values: {
      context: { region_name: 'RegionOne', ca_cert: '@', insecure: true },
      template,
      timeout: 7,
      parameters: { a: '@' },
    },
    with: { template: { template: 'heat_template_version: 2021-04-16' } },
    seen: seenIn(groups, 'context context.region_name context.credential_secret_id'),
  },
  'OS::Heat::WaitCondition': {
    base: { handle: ref('handle'), timeout: 1 },
    values: { handle: ref('handle'), timeout: 2, count: 2 },
    fails: true,
    seen: seenIn('services/scheduling/provider/wait-condition.service.test.ts', 'handle timeout'),
  },
  'AWS::CloudFormation::WaitCondition': {
    base: { Handle: ref('awshandle'), Timeout: 1 },
    values: { Handle: ref('awshandle'), Timeout: 2, Count: 2 },
    fails: true,
    seen: seenIn(waits, 'Handle Timeout'),
  },
  'OS::Heat::WaitConditionHandle': { values: { signal_transport: 'NO_SIGNAL' } },
  'OS::Heat::UpdateWaitConditionHandle': { values: {} },
  'AWS::CloudFormation::WaitConditionHandle': { values: {} },
  'OS::Heat::ScalingPolicy': policyOf('auto_scaling_group_id', {
    scaling_adjustment: 2,
    adjustment_type: 'exact_capacity',
    cooldown: 30,
    min_adjustment_step: 2,
  }),
  'AWS::AutoScaling::ScalingPolicy': {
    base: { AutoScalingGroupName: ref('group'), ScalingAdjustment: 1, AdjustmentType: 'ChangeInCapacity' },
    values: {
      AutoScalingGroupName: ref('group'),
      ScalingAdjustment: 2,
      AdjustmentType: 'ExactCapacity',
      Cooldown: 30,
      MinAdjustmentStep: 2,
    },
    with: { MinAdjustmentStep: { AdjustmentType: 'PercentChangeInCapacity' } },
    signal: {},
    seen: seenIn(groups, 'AutoScalingGroupName ScalingAdjustment AdjustmentType'),
  },
  'Anneal::Scaling::StepPolicy': {
    base: { group: ref('group'), steps },
    values: {
      group: ref('group'),
      warm_up: 5,
      cooldown_out: 30,
      cooldown_in: 30,
      victims: 'newest',
      threshold: 7,
      adjustment_type: 'exact_capacity',
      min_adjustment_step: 2,
      steps: [
        { lower: 0, upper: 9, adjustment: 2 },
        { lower: 9, adjustment: 3 },
      ],
    },
    with: { min_adjustment_step: { adjustment_type: 'percent_change_in_capacity' } },
    signal: {},
    seen: seenIn(
      scaling,
      'group warm_up cooldown_out cooldown_in victims threshold adjustment_type steps steps[].lower steps[].upper steps[].adjustment',
    ),
  },
  'Anneal::Scaling::TargetPolicy': {
    base: { group: ref('group'), target: 5 },
    values: {
      group: ref('group'),
      warm_up: 5,
      cooldown_out: 30,
      cooldown_in: 30,
      victims: 'newest',
      target: 7,
      tolerance: 0.5,
      scale_in: false,
    },
    signal: {},
    seen: {
      ...seenIn(scaling, 'group warm_up cooldown_out cooldown_in victims target tolerance'),
      ...seenIn('services/scheduling/groups/size.test.ts', 'scale_in'),
    },
  },
  'Anneal::Scaling::Schedule': {
    base: { group: ref('group'), cron: '0 8 * * *', size: 1 },
    values: { group: ref('group'), cron: '0 9 * * *', time_zone: 'Europe/Berlin', size: 2 },
    seen: seenIn('services/scheduling/provider/scaling/schedule.service.test.ts', 'group cron time_zone size'),
  },
  'AWS::AutoScaling::LaunchConfiguration': {
    values: {
      ImageId: '@',
      InstanceType: '@',
      InstanceId: '@',
      KeyName: '@',
      UserData: '@',
      SecurityGroups: ['@'],
      BlockDeviceMappings: [{ DeviceName: '@' }],
      NovaSchedulerHints: [{ Key: 'k', Value: '@' }],
    },
    seen: {
      ...seenIn(groups, 'InstanceId'),
      ...seenIn(
        instances,
        'ImageId InstanceType KeyName UserData SecurityGroups BlockDeviceMappings BlockDeviceMappings[].DeviceName BlockDeviceMappings[].Ebs BlockDeviceMappings[].Ebs.DeleteOnTermination BlockDeviceMappings[].Ebs.SnapshotId BlockDeviceMappings[].Ebs.VolumeSize NovaSchedulerHints NovaSchedulerHints[].Key NovaSchedulerHints[].Value',
      ),
    },
  },
  'OS::Mistral::Workflow': {
    base: { type: 'direct', tasks: [{ name: 'one', action: 'std.noop' }] },
    values: {
      name: '@',
      type: 'reverse',
      use_request_body_as_input: true,
      tags: ['@'],
      description: '@',
      input: { a: '@' },
      output: { o: '<% $.a %>', plain: '@' },
      params: { env: { e: '@' } },
      task_defaults: {
        on_success: ['succeed'],
        on_error: ['fail'],
        on_complete: ['noop'],
        retry: { count: 2, delay: 1 },
        wait_before: 1,
        wait_after: 1,
        pause_before: true,
        timeout: 30,
        concurrency: 1,
      },
      tasks,
    },
    names: ['name', 'tags', 'description'],
    signal: { a: 'v', input: { b: 'w' } },
    with: { type: { params: { task_name: 'one' } } },
    seen: {
      ...seenIn(workflows, 'tasks[].name tasks[].action tasks[].workflow tasks[].input'),
      ...seenIn('libs/hot/workflow/parse.test.ts', 'task_defaults.requires tasks[].requires tasks[].target'),
    },
  },
  'OS::Mistral::ExternalResource': {
    base: { actions: { CREATE: { workflow: ref('flow') } }, input: { a: 'v' } },
    values: {
      actions: { CREATE: { workflow: ref('flow'), params: { env: { e: '@' } } } },
      input: { a: '@' },
      description: '@',
      replace_on_change_inputs: ['a'],
      always_update: false,
    },
    names: ['description'],
    seen: seenIn(
      workflows,
      `${['CREATE', 'UPDATE', 'SUSPEND', 'RESUME', 'DELETE'].map((action) => `actions.${action} actions.${action}.workflow actions.${action}.params`).join(' ')} replace_on_change_inputs always_update`,
    ),
  },
  'OS::Mistral::CronTrigger': {
    base: { pattern: '0 8 * * *', workflow: { name: ref('flow'), input: { a: 'v' } } },
    values: {
      name: '@',
      pattern: '0 9 * * *',
      workflow: { name: ref('flow'), input: { a: '@' } },
      first_time: '2050-01-01 08:00',
      count: 3,
    },
    names: ['name'],
    seen: seenIn(triggers, 'workflow.name workflow.input'),
    keeps: seenIn(triggers, 'name pattern workflow first_time count'),
  },
  'Anneal::Workflow::EventTrigger': {
    base: { types: ['node.failed'], workflow: ref('flow') },
    values: {
      types: ['host.up'],
      match: { 'data.name': '@' },
      workflow: ref('flow'),
      input: { a: '@' },
      params: { env: { e: '@' } },
    },
    seen: seenIn(workflows, 'workflow'),
    keeps: seenIn(workflows, 'types match input params'),
  },
  'OS::Zaqar::MistralTrigger': {
    base: { queue_name: 'q', workflow_id: ref('flow') },
    values: { queue_name: '@', ttl: 60, workflow_id: ref('flow'), params: { env: { e: '@' } }, input: { a: '@' } },
    names: ['queue_name'],
    seen: seenIn(triggers, 'ttl workflow_id'),
    keeps: seenIn(triggers, 'queue_name params input'),
  },
  'OS::Heat::InstanceGroup': {
    base: { AvailabilityZones: ['a'], LaunchConfigurationName: ref('launch'), Size: 0 },
    values: {
      AvailabilityZones: ['@'],
      LaunchConfigurationName: ref('launch'),
      Size: 1,
      LoadBalancerNames: ['@'],
      Tags: tags,
    },
    with: { Tags: { Size: 1 } },
    seen: seenIn(instances, 'LaunchConfigurationName'),
  },
  'AWS::AutoScaling::AutoScalingGroup': {
    base: { AvailabilityZones: ['a'], LaunchConfigurationName: ref('launch'), MinSize: 1, MaxSize: 2 },
    values: {
      AvailabilityZones: ['@'],
      LaunchConfigurationName: ref('launch'),
      MaxSize: 3,
      MinSize: 2,
      Cooldown: 30,
      DesiredCapacity: 2,
      LoadBalancerNames: ['@'],
      VPCZoneIdentifier: ['@'],
      Tags: tags,
    },
    fixed: { InstanceId: 'it names a server that exists, which needs a machine' },
    seen: seenIn(groups, 'InstanceId LaunchConfigurationName MaxSize'),
  },
  'AWS::CloudFormation::Stack': {
    base: { TemplateURL: 'inner.yaml' },
    values: { TimeoutInMinutes: 7, Parameters: { a: '@' } },
    fixed: { TemplateURL: 'the compiler reads the file before any resource exists' },
    seen: seenIn('test/system/nested/nested.test.ts', 'TemplateURL'),
  },
};
