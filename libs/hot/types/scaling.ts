/** Groups that scale, and the policies of Anneal. The policies of Heat and AWS stay exactly theirs. */
import type { PropertySchema, ResourceType } from '@anneal/contracts/resource-type.ts';
import { boolean, checked, integer, listOf, map, mapOf, number, oneOf, resourceType, string } from './schema.ts';

/** The properties of a group that scales, as in Heat. */
export const scalingProperties = {
  resource: map({ required: true, update_allowed: true }),
  max_size: integer({ required: true, update_allowed: true, constraints: [{ range: { min: 0 } }] }),
  min_size: integer({ required: true, update_allowed: true, constraints: [{ range: { min: 0 } }] }),
  cooldown: integer({ update_allowed: true }),
  desired_capacity: integer({ update_allowed: true }),
  rolling_updates: mapOf(
    {
      min_in_service: integer({ default: 0, constraints: [{ range: { min: 0 } }] }),
      max_batch_size: integer({ default: 1, constraints: [{ range: { min: 1 } }] }),
      pause_time: number({ default: 0, constraints: [{ range: { min: 0 } }] }),
    },
    { default: { min_in_service: 0, max_batch_size: 1, pause_time: 0 }, update_allowed: true },
  ),
};
/** The attributes of a group that scales. */
export const scalingAttributes = {
  outputs: 'Map',
  outputs_list: 'List',
  current_size: 'Integer',
  refs: 'List',
  refs_map: 'Map',
};

const atLeast = (min: number) => [{ range: { min } }];
const victims = (description: string): PropertySchema =>
  string({ update_allowed: true, constraints: oneOf('oldest', 'newest', 'unhealthy'), description });
const seconds = (description: string): PropertySchema =>
  number({ default: 0, update_allowed: true, constraints: atLeast(0), description });

const group = resourceType(
  'Anneal::Scaling::Group',
  {
    ...scalingProperties,
    victims: victims(
      'The members that leave first when the group shrinks. Failed members always leave first. The default is `oldest`, as in Heat.',
    ),
    deciding: mapOf(
      {
        heartbeat_timeout: number({ required: true, constraints: atLeast(1), description: 'Seconds.' }),
        global_timeout: number({ constraints: atLeast(1), description: 'Seconds that heartbeats cannot exceed.' }),
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
        after: number({ required: true, constraints: atLeast(0), description: 'Seconds of silence of the host.' }),
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
  scalingAttributes,
  {
    open_attributes: true,
    description: 'A group as OS::Heat::AutoScalingGroup, with more ways to choose its members.',
  },
);

const policyAttributes = { alarm_url: 'String', signal_url: 'String' };
const reference = string({ required: true, description: 'The group: `{get_resource: NAME}`.' });
const shared = {
  group: reference,
  warm_up: seconds('Seconds during which a new member does not count; meanwhile the group does not shrink.'),
  cooldown_out: seconds('Seconds after growing in which nothing scales the group.'),
  cooldown_in: seconds('Seconds after shrinking in which the group does not shrink again; it may grow.'),
  victims: victims("The members that leave first; absent: in the group's own order."),
};

const stepPolicy = resourceType(
  'Anneal::Scaling::StepPolicy',
  {
    ...shared,
    threshold: number({ default: 0, update_allowed: true, description: 'The bounds of the steps are relative to it.' }),
    adjustment_type: string({
      default: 'change_in_capacity',
      update_allowed: true,
      constraints: oneOf('change_in_capacity', 'exact_capacity', 'percent_change_in_capacity'),
    }),
    min_adjustment_step: integer({ update_allowed: true, constraints: atLeast(0) }),
    steps: listOf(
      mapOf({
        lower: number({ description: 'Absent: no bound; only in the first step.' }),
        upper: number({ description: 'Absent: no bound; only in the last step.' }),
        adjustment: number({ required: true }),
      }),
      { required: true, update_allowed: true, description: 'In ascending order, without gaps.' },
    ),
  },
  policyAttributes,
  { description: 'Scales a group by the step in which the value of a signal lies.' },
);

const targetPolicy = resourceType(
  'Anneal::Scaling::TargetPolicy',
  {
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
  policyAttributes,
  { description: 'Keeps the value of its signals at a target: size × value ÷ target, rounded up.' },
);

const schedule = resourceType(
  'Anneal::Scaling::Schedule',
  {
    group: reference,
    cron: string({
      required: true,
      update_allowed: true,
      constraints: checked('cron_expression'),
      description: 'Minute, hour, day, month and weekday. A local time that the change of a clock skips does not come.',
    }),
    time_zone: string({ default: 'UTC', update_allowed: true, constraints: checked('timezone') }),
    size: integer({ required: true, update_allowed: true, constraints: atLeast(0), description: 'The size to set.' }),
  },
  {},
  { description: 'Sets the size of a group at the times of a cron expression; ignores cooldowns.' },
);

/** The types of Anneal: a group, its policies and its schedules. */
export const ownScalingTypes: ResourceType[] = [group, stepPolicy, targetPolicy, schedule];

/** The name of the type of a schedule. */
export const scheduleType = schedule.type;

/** The names of the policies. */
export const ownPolicies: ReadonlySet<string> = new Set([stepPolicy.type, targetPolicy.type]);
