/** Groups that scale, and the policies of Anneal. The policies of Heat and AWS stay exactly theirs. */
import type { PropertySchema, ResourceType } from '@anneal/contracts/resource-type.ts';
import { boolean, checked, integer, listOf, map, mapOf, number, oneOf, secondsFrom, string } from './schema.ts';

/** The properties of a group that scales, as in Heat. */
export const scalingProperties = {
  resource: map({
    required: true,
    update_allowed: true,
    description: 'The definition of each member: `type`, `properties` and what else a resource of a template has.',
  }),
  max_size: integer({
    required: true,
    update_allowed: true,
    constraints: [{ range: { min: 0 } }],
    description: 'The group never has more members.',
  }),
  min_size: integer({
    required: true,
    update_allowed: true,
    constraints: [{ range: { min: 0 } }],
    description: 'The group never has fewer members.',
  }),
  cooldown: integer({
    update_allowed: true,
    description: 'Seconds after a change of size in which policies change nothing, unless a policy has its own.',
  }),
  desired_capacity: integer({
    update_allowed: true,
    description: 'The first size, and the size after an update that changes this value. The default is `min_size`.',
  }),
  rolling_updates: mapOf(
    {
      min_in_service: integer({
        default: 0,
        constraints: [{ range: { min: 0 } }],
        description: 'The members that stay in service during an update.',
      }),
      max_batch_size: integer({
        default: 1,
        constraints: [{ range: { min: 1 } }],
        description: 'The most members that change at the same time.',
      }),
      pause_time: number({
        default: 0,
        constraints: secondsFrom(0),
        description: 'Seconds between two batches.',
      }),
    },
    {
      default: { min_in_service: 0, max_batch_size: 1, pause_time: 0 },
      update_allowed: true,
      description: 'How an update changes the members: in batches, with pauses.',
    },
  ),
};
/** The attributes of a group that scales. */
export const scalingAttributes = {
  outputs: { type: 'Map', description: 'An attribute of all members by name: `{get_attr: [group, outputs, NAME]}`.' },
  outputs_list: {
    type: 'List',
    description: 'An attribute of all members in their order: `{get_attr: [group, outputs_list, NAME]}`.',
  },
  current_size: { type: 'Integer', description: 'The number of members.' },
  refs: { type: 'List', description: 'The references of the members, in their order.' },
  refs_map: { type: 'Map', description: 'The references of the members, by name.' },
};

const atLeast = (min: number) => [{ range: { min } }];
const victims = (description: string): PropertySchema =>
  string({ update_allowed: true, constraints: oneOf('oldest', 'newest', 'unhealthy'), description });
const seconds = (description: string): PropertySchema =>
  number({ default: 0, update_allowed: true, constraints: secondsFrom(0), description });

const group: ResourceType = {
  type: 'Anneal::Scaling::Group',
  description: 'A group as OS::Heat::AutoScalingGroup, with more ways to choose its members.',
  properties: {
    ...scalingProperties,
    victims: victims(
      'The members that leave first when the group shrinks. Failed members always leave first. The default is `oldest`, as in Heat.',
    ),
    deciding: mapOf(
      {
        heartbeat_timeout: number({ required: true, constraints: secondsFrom(1), description: 'Seconds.' }),
        global_timeout: number({ constraints: secondsFrom(1), description: 'Seconds that heartbeats cannot exceed.' }),
        default_result: string({
          default: 'continue',
          constraints: oneOf('continue', 'abandon'),
          description: 'The result when no listener answers in time.',
        }),
        metadata: map({ default: {}, description: 'The event contains it unchanged.' }),
      },
      {
        update_allowed: true,
        description:
          'Before any change of members begins, a listener may refuse it, change the size or choose the members that leave.',
      },
    ),
    replace_lost: mapOf(
      {
        after: number({ required: true, constraints: secondsFrom(0), description: 'Seconds of silence of the host.' }),
        min_in_service: integer({
          default: 0,
          constraints: atLeast(0),
          description: 'The members that are never replaced at the same time as the others.',
        }),
        node_faults: boolean({
          default: false,
          description:
            'Also replace a member whose node has had a fault for that time, although its host answers. The fault `power failure` means that its controller does not answer.',
        }),
      },
      { update_allowed: true, description: 'Replaces a member whose host is silent, or whose node has a fault.' },
    ),
    warm_pool: mapOf(
      {
        size: integer({ required: true, constraints: atLeast(0), description: 'The members that wait in the pool.' }),
      },
      {
        update_allowed: true,
        description:
          'Members that are complete and wait out of service, with their servers on. A group that grows, or replaces a member, takes them first.',
      },
    ),
  },
  attributes: scalingAttributes,
  open_attributes: true,
};

const policyAttributes = {
  alarm_url: {
    type: 'String',
    description: 'A POST to this URL signals the policy. It needs no login and is a secret.',
  },
  signal_url: { type: 'String', description: 'The same for clients that log in.' },
};
const reference = string({ required: true, description: 'The group: `{get_resource: NAME}`.' });
const shared = {
  group: reference,
  warm_up: seconds('Seconds during which a new member does not count; meanwhile the group does not shrink.'),
  cooldown_out: seconds('Seconds after growing in which nothing scales the group.'),
  cooldown_in: seconds('Seconds after shrinking in which the group does not shrink again; it may grow.'),
  victims: victims("The members that leave first; absent: in the group's own order."),
};

const stepPolicy: ResourceType = {
  type: 'Anneal::Scaling::StepPolicy',
  description: 'Scales a group by the step in which the value of a signal lies.',
  properties: {
    ...shared,
    threshold: number({ default: 0, update_allowed: true, description: 'The bounds of the steps are relative to it.' }),
    adjustment_type: string({
      default: 'change_in_capacity',
      update_allowed: true,
      constraints: oneOf('change_in_capacity', 'exact_capacity', 'percent_change_in_capacity'),
      description: 'Whether an adjustment is a number of members to add, the size itself, or a percentage to add.',
    }),
    min_adjustment_step: integer({
      update_allowed: true,
      constraints: atLeast(0),
      description: 'With a percentage: the least number of members to add or to remove.',
    }),
    steps: listOf(
      mapOf({
        lower: number({ description: 'Absent: no bound; only in the first step.' }),
        upper: number({ description: 'Absent: no bound; only in the last step.' }),
        adjustment: number({ required: true, description: 'The change of the size when the value lies in this step.' }),
      }),
      { required: true, update_allowed: true, description: 'In ascending order, without gaps.' },
    ),
  },
  attributes: policyAttributes,
};

const targetPolicy: ResourceType = {
  type: 'Anneal::Scaling::TargetPolicy',
  description: 'Keeps the value of its signals at a target: size × value ÷ target, rounded up.',
  properties: {
    ...shared,
    target: number({
      required: true,
      update_allowed: true,
      description: 'The value for each member that the policy aims at; above zero.',
    }),
    tolerance: number({
      default: 0.1,
      update_allowed: true,
      constraints: atLeast(0),
      description: 'The part by which a value may differ from the target without an effect.',
    }),
    scale_in: boolean({ default: true, update_allowed: true, description: 'False: the policy only grows the group.' }),
  },
  attributes: policyAttributes,
};

const schedule: ResourceType = {
  type: 'Anneal::Scaling::Schedule',
  description: 'Sets the size of a group at the times of a cron expression; ignores cooldowns.',
  properties: {
    group: reference,
    cron: string({
      required: true,
      update_allowed: true,
      constraints: checked('cron_expression'),
      description:
        'Minute, hour, day, month and weekday. A time that the clock skips comes at the next instant, and one that it repeats comes once; with * or a step in the hour, the schedule goes on each hour that passes.',
    }),
    time_zone: string({
      default: 'UTC',
      update_allowed: true,
      constraints: checked('timezone'),
      description: 'The time zone of the expression, for example Europe/Berlin.',
    }),
    size: integer({ required: true, update_allowed: true, constraints: atLeast(0), description: 'The size to set.' }),
  },
  attributes: {},
};

/** The types of Anneal: a group, its policies and its schedules. */
export const ownScalingTypes: ResourceType[] = [group, stepPolicy, targetPolicy, schedule];

/** The name of the type of a schedule. */
export const scheduleType = schedule.type;

/** The names of the policies. */
export const ownPolicies: ReadonlySet<string> = new Set([stepPolicy.type, targetPolicy.type]);
