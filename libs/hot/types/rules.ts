/** What a type asks of its properties beyond their schemas: how they stand to each other. In Heat's words. */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { wrongSizes } from '../groups/scaling.ts';
import { isObject } from '../node.ts';
import { type Partial, unknown } from '../unknown.ts';

export interface RuledResource {
  readonly name: string;
  /** Those that are known, defaults filled in. What is not known yet breaks no rule. */
  readonly properties: JsonObject;
  /** All, with what is not known in its place. */
  readonly all: Readonly<Record<string, Partial>>;
  /** Names of the resources of its stack. */
  readonly siblings: ReadonlyMap<string, boolean>;
}

/** What is wrong; undefined when nothing is. */
type Rule = (resource: RuledResource) => string | undefined;

const isGiven = (value: Partial | undefined): boolean => value !== undefined && value !== null && value !== '';

/** A property that went by another name once: one of the two is required. */
const either =
  (name: string, older: string): Rule =>
  ({ all }) =>
    // A null that is written counts as given.
    Object.hasOwn(all, name) || Object.hasOwn(all, older) ? undefined : `Property ${name} not assigned`;

const oneAtLeast =
  (...names: string[]): Rule =>
  ({ all }) =>
    names.some((name) => isGiven(all[name]))
      ? undefined
      : `At least one of the following properties must be specified: ${names.join(', ')}.`;

const both =
  (first: Rule, second: Rule): Rule =>
  (resource) =>
    first(resource) ?? second(resource);

const maps = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);
const sum = (items: readonly JsonObject[]): number =>
  items.reduce((total, { min }) => total + (typeof min === 'number' ? min : 0), 0);

const randomLength: Rule = ({ properties }) => {
  const { length, character_classes: classes, character_sequences: sequences } = properties;
  if (typeof length !== 'number' || sum(maps(classes)) + sum(maps(sequences)) <= length) return undefined;
  return 'Length property cannot be smaller than combined character class and character sequence minimums';
};

const oneConfigPerAction: Rule = ({ name, properties }) => {
  const actions = maps(properties['configs']).flatMap((config) =>
    Array.isArray(config['actions']) ? [...new Set(config['actions'])] : [],
  );
  if (new Set(actions).size === actions.length) return undefined;
  return `Defining more than one configuration for the same action in SoftwareComponent "${name}" is not allowed.`;
};

const stepOnlyWith =
  (name: string, other: string, value: string): Rule =>
  ({ properties }) =>
    isGiven(properties[name]) && other in properties && properties[other] !== value
      ? `${name} property should only be specified for ${other} with value ${value}.`
      : undefined;

const launch: Rule = ({ all }) =>
  isGiven(all['InstanceId']) === isGiven(all['LaunchConfigurationName'])
    ? "Either 'InstanceId' or 'LaunchConfigurationName' must be provided."
    : undefined;

const workflow: Rule = ({ all, properties }) => {
  const { type, params, tasks } = properties;
  const isReverse = type === 'reverse';
  if (isReverse && all['params'] !== unknown && !(isObject(params) && isGiven(params['task_name']))) {
    return "'task_name' is not assigned in 'params' in case of reverse type workflow.";
  }
  for (const task of maps(tasks)) {
    const { name, workflow: other, action, requires, with_items: items, concurrency } = task;
    const named = typeof name === 'string' ? name : '';
    if (isGiven(other) && isGiven(action)) {
      return 'Cannot define the following properties at the same time: workflow, action.';
    }
    if (!isGiven(other) && !isGiven(action)) {
      return 'At least one of the following properties must be specified: workflow, action.';
    }
    if (type === 'direct' && isGiven(requires)) {
      return `task ${named} contains property 'requires' in case of direct workflow. Only reverse workflows can contain property 'requires'.`;
    }
    if (isGiven(concurrency) && !isGiven(items)) return 'concurrency cannot be specified without with_items.';
  }
  return undefined;
};

export const rules: Readonly<Record<string, Rule>> = {
  'OS::Heat::RandomString': randomLength,
  'OS::Heat::SoftwareComponent': oneConfigPerAction,
  'OS::Heat::AutoScalingGroup': ({ properties }) => wrongSizes(properties),
  'AWS::AutoScaling::AutoScalingGroup': both(({ properties }) => wrongSizes(properties), launch),
  'OS::Heat::ScalingPolicy': stepOnlyWith('min_adjustment_step', 'adjustment_type', 'percent_change_in_capacity'),
  'AWS::AutoScaling::ScalingPolicy': stepOnlyWith('MinAdjustmentStep', 'AdjustmentType', 'PercentChangeInCapacity'),
  'OS::Heat::AccessPolicy': ({ properties, siblings }) => {
    const { AllowedResources: names } = properties;
    const missing = (Array.isArray(names) ? names : []).find((name) => typeof name === 'string' && !siblings.get(name));
    return typeof missing === 'string' ? `AccessPolicy resource ${missing} not in stack` : undefined;
  },
  'OS::Mistral::Workflow': workflow,
  'OS::Mistral::CronTrigger': oneAtLeast('pattern', 'first_time'),
  'OS::Neutron::Subnet': both(either('network', 'network_id'), oneAtLeast('subnetpool', 'cidr')),
  'OS::Neutron::Port': either('network', 'network_id'),
  'OS::Neutron::FloatingIP': either('floating_network', 'floating_network_id'),
  'OS::Neutron::RouterInterface': either('router', 'router_id'),
  'OS::Neutron::VPNService': both(either('router', 'router_id'), either('subnet', 'subnet_id')),
  'OS::Neutron::SecurityGroup': ({ properties }) =>
    properties['name'] === 'default' ? 'Security groups cannot be assigned the name "default".' : undefined,
};
