/** Rules of a type beyond the schemas of its properties: relations between properties. Messages are Heat's. */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { type Reason, stated, why } from '../evaluate/reason.ts';
import { wrongSizes } from '../groups/scaling.ts';
import { Mistakes } from '../mistakes.ts';
import { readTemplate } from '../syntax/template.ts';
import { isPlainObject } from '@anneal/python/yaml/node.ts';
import { numberOf } from '@anneal/python/values/number.ts';
import { holdsUnknown, type PartialValue, type PartialMap, unknown } from '../evaluate/unknown.ts';

interface Ruled {
  /** Values with defaults. An unknown value violates no rule. */
  readonly values: Readonly<Record<string, PartialValue>>;
  /** Names of the resources of the same stack, and whether each exists. */
  readonly siblings: ReadonlyMap<string, boolean> | undefined;
  readonly properties: ResourceType['properties'];
}

/** Returns the reason of a violation, or undefined. A `whole` message is shown without the name of the resource. */
type Rule = (resource: Ruled) => Reason | { readonly whole: Reason } | undefined;

const isGiven = (value: PartialValue | undefined): boolean => value !== undefined && value !== null && value !== '';

/** Rule for a renamed property: either the old or the new name is required. */
const either =
  (name: string, older: string): Rule =>
  ({ values }) =>
    // An explicit null counts as given.
    Object.hasOwn(values, name) || Object.hasOwn(values, older)
      ? undefined
      : why`Property ${stated(name)} not assigned`;

const oneAtLeast =
  (...names: string[]): Rule =>
  ({ values }) =>
    names.some((name) => isGiven(values[name]))
      ? undefined
      : why`At least one of the following properties must be specified: ${stated(names.join(', '))}.`;

const both =
  (first: Rule, second: Rule): Rule =>
  (resource) =>
    first(resource) ?? second(resource);

const isMap = (value: PartialValue | undefined): value is PartialMap => isPlainObject(value);
const maps = (value: PartialValue | undefined): PartialMap[] =>
  Array.isArray(value) ? value.flatMap((item: PartialValue) => (isMap(item) ? [item] : [])) : [];
const known = (values: Ruled['values']): JsonObject =>
  Object.fromEntries(Object.entries(values).filter((entry): entry is [string, Json] => !holdsUnknown(entry[1])));
const sum = (items: readonly PartialMap[]): number => items.reduce((total, { min }) => total + (numberOf(min) ?? 0), 0);

const randomLength: Rule = ({ values }) => {
  const { character_classes: classes, character_sequences: sequences } = values;
  const length = numberOf(values['length']);
  if (length === undefined || sum(maps(classes)) + sum(maps(sequences)) <= length) return undefined;
  return why`Length property cannot be smaller than combined character class and character sequence minimums`;
};

const oneConfigPerAction: Rule = ({ values }) => {
  const actions = maps(values['configs']).flatMap((config) =>
    Array.isArray(config['actions']) ? [...new Set(config['actions'])] : [],
  );
  if (new Set(actions).size === actions.length) return undefined;
  return why`Defining more than one configuration for the same action is not allowed.`;
};

const stepOnlyWith =
  (name: string, other: string, value: string): Rule =>
  ({ values: { [name]: step, [other]: kind } }) =>
    isGiven(step) && typeof kind === 'string' && kind !== value
      ? why`${stated(name)} property should only be specified for ${stated(other)} with value ${stated(value)}.`
      : undefined;

const launch: Rule = ({ values }) =>
  isGiven(values['InstanceId']) === isGiven(values['LaunchConfigurationName'])
    ? why`Either 'InstanceId' or 'LaunchConfigurationName' must be provided.`
    : undefined;

/** Refuses credentials for another cloud, another region, and a text that is no template. */
const remote: Rule = ({ values: { context, template }, properties }) => {
  const given = isMap(context) ? context : {};
  if (isGiven(given['credential_secret_id'])) {
    return why`context.credential_secret_id: credentials for another cloud are not supported, a remote stack is made here.`;
  }
  const here = properties['context']?.schema?.['region_name']?.default;
  if (typeof here !== 'string') return undefined;
  const region = given['region_name'] ?? here;
  if (typeof region === 'string' && region !== here) {
    const reason = why`public endpoint for orchestration service in ${region} region not found`;
    return { whole: why`Cannot establish connection to Heat endpoint at region "${region}" due to "${reason}"` };
  }
  const mistakes = new Mistakes();
  if (typeof template === 'string') readTemplate({ content: template, mistakes });
  const [first] = mistakes.all();
  if (!first) return undefined;
  const reason = why`ERROR: ${first.message}`;
  return {
    whole: why`Failed validating stack template using Heat endpoint at region "${stated(here)}" due to "${reason}"`,
  };
};

/** Refuses a known value: a reference is unknown until the resource exists, so a known value is not one. */
const reference =
  (property: string): Rule =>
  ({ values: { [property]: name }, siblings }) => {
    if (!siblings || typeof name !== 'string' || name === '') return undefined;
    return siblings.get(name) === true
      ? why`${stated(property)} (${name}) requires a reference to the configuration not just the name of the resource.`
      : why`${stated(property)} (${name}) reference can not be found.`;
  };

const workflow: Rule = ({ values }) => {
  const { type, params, tasks } = values;
  const isReverse = type === 'reverse';
  if (isReverse && params !== unknown && !(isMap(params) && isGiven(params['task_name']))) {
    return why`'task_name' is not assigned in 'params' in case of reverse type workflow.`;
  }
  for (const task of maps(tasks)) {
    const { name, workflow: other, action, requires, with_items: items, concurrency } = task;
    const named = typeof name === 'string' ? name : '';
    if (isGiven(other) && isGiven(action)) {
      return why`Cannot define the following properties at the same time: workflow, action.`;
    }
    if (!isGiven(other) && !isGiven(action)) {
      return why`At least one of the following properties must be specified: workflow, action.`;
    }
    if (type === 'direct' && isGiven(requires)) {
      return why`task ${named} contains property 'requires' in case of direct workflow. Only reverse workflows can contain property 'requires'.`;
    }
    if (isGiven(concurrency) && !isGiven(items)) return why`concurrency cannot be specified without with_items.`;
  }
  return undefined;
};

/** The sizes of a group. */
const sizes: Rule = ({ values }) => {
  const problem = wrongSizes(known(values));
  return problem === undefined ? undefined : why`${stated(problem)}`;
};

/** The steps of a policy in ascending order, without gaps and overlaps; only the ends may be open. */
function wrongSteps({ steps }: JsonObject): Reason | undefined {
  const all = maps(steps ?? null);
  if (all.length === 0) return why`A step policy needs at least one step.`;
  for (const [index, { lower = null, upper = null }] of all.entries()) {
    const before = all[index - 1];
    if (before && (before['upper'] ?? null) !== lower) {
      return why`Step ${stated(index + 1)} must begin at ${JSON.stringify(before['upper'] ?? null)}, where step ${stated(index)} ends.`;
    }
    if (before && lower === null)
      return why`Step ${stated(index + 1)} needs a lower bound: only the first may be open there.`;
    if (typeof lower === 'number' && typeof upper === 'number' && lower >= upper) {
      return why`Step ${stated(index + 1)} must end above its lower bound, ${lower}.`;
    }
  }
  return undefined;
}

/** Anneal has no load balancer whose pool could be asked, so the alarm would never change its state. */
const memberHealth: Rule = () =>
  why`OS::Aodh::LBMemberHealthAlarm needs a load balancer, and Anneal has none. To replace members that do not answer, say replace_lost: {after: SECONDS} for the group in the environment, or use Anneal::Scaling::Group.`;

/** The rule of each type that has one. */
export const rules: Readonly<Record<string, Rule>> = {
  'OS::Heat::RandomString': randomLength,
  'OS::Heat::SoftwareComponent': oneConfigPerAction,
  'OS::Heat::AutoScalingGroup': sizes,
  'Anneal::Scaling::Group': sizes,
  'Anneal::Scaling::StepPolicy': ({ values }) => wrongSteps(known(values)),
  'OS::Heat::InstanceGroup': reference('LaunchConfigurationName'),
  'AWS::AutoScaling::AutoScalingGroup': both(sizes, both(launch, reference('LaunchConfigurationName'))),
  'OS::Heat::Stack': remote,
  'OS::Heat::ScalingPolicy': stepOnlyWith('min_adjustment_step', 'adjustment_type', 'percent_change_in_capacity'),
  'AWS::AutoScaling::ScalingPolicy': stepOnlyWith('MinAdjustmentStep', 'AdjustmentType', 'PercentChangeInCapacity'),
  'OS::Heat::AccessPolicy': ({ values, siblings }) => {
    const { AllowedResources: names } = values;
    const missing = (siblings && Array.isArray(names) ? names : []).find(
      (name) => typeof name === 'string' && siblings?.get(name) !== true,
    );
    return typeof missing === 'string' ? why`AccessPolicy resource ${missing} not in stack` : undefined;
  },
  'Anneal::Scaling::TargetPolicy': ({ values: { target } }) =>
    typeof target === 'number' && target <= 0 ? why`The target must be above zero.` : undefined,
  'OS::Aodh::LBMemberHealthAlarm': memberHealth,
  'OS::Mistral::Workflow': workflow,
  'OS::Mistral::CronTrigger': oneAtLeast('pattern', 'first_time'),
  'OS::Neutron::Subnet': both(either('network', 'network_id'), oneAtLeast('subnetpool', 'cidr')),
  'OS::Neutron::Port': either('network', 'network_id'),
  'OS::Neutron::FloatingIP': either('floating_network', 'floating_network_id'),
  'OS::Neutron::RouterInterface': either('router', 'router_id'),
  'OS::Neutron::VPNService': both(either('router', 'router_id'), either('subnet', 'subnet_id')),
  'OS::Neutron::SecurityGroup': ({ values }) =>
    values['name'] === 'default' ? why`Security groups cannot be assigned the name "default".` : undefined,
};
