/** Groups that scale: the requests of policies, the actions of operators and listeners, and the answers to both. */
import { z } from 'zod';
import { call, message } from '../define.ts';
import { jsonObject } from '../json.ts';
import { askedSchema } from '../envelope.ts';
import { occasionSchema } from '../origin.ts';

/** The reasons of a scaling. */
export const scalingReasons = ['signal', 'alarm', 'schedule', 'update', 'replacement', 'refresh', 'request'] as const;

/** Why a group does not scale. */
export const scalingRefusals = {
  busy: 'an action of the group is running',
  failed: 'the last action of the group failed; update its stack',
  suspended: 'the stack of the group is suspended',
  deciding: 'a listener decides about another scaling',
  cooldown: 'the cooldown of an earlier scaling lasts',
  paused: 'an operator paused the scaling of the group',
  warming: 'members are younger than the warm-up of the policy',
  limit: 'the group has its least or its most members',
  unchanged: 'the group has this size',
  protected: 'the members that would leave are protected',
  quota: 'a quota of the project is used up',
  vetoed: 'a listener, or the default result of the hook, refused it',
  invalid: 'the request is incomplete or wrong',
  missing: 'the policy names no group that exists',
} as const;
/** The reason for which a group does not scale. */
export type ScalingRefusal = keyof typeof scalingRefusals;
const refusalNames = Object.keys(scalingRefusals) as [ScalingRefusal, ...ScalingRefusal[]];

/** The outcome of a request to scale a group. */
export const scalingOutcomeSchema = z.object({
  id: z.string().meta({ description: 'The id of the request; events of the scaling have it, too.' }),
  at: z.iso.datetime(),
  group: z.string().meta({ description: 'The name of the group in its stack.' }),
  policy: z.string().nullable(),
  reason: z.enum(scalingReasons),
  result: z
    .enum(['applied', 'refused', 'deciding'])
    .meta({ description: '`deciding`: a listener of the hook `deciding` decides; an event reports its decision.' }),
  before: z.number().int().meta({ description: 'The number of members at the time of the request.' }),
  after: z.number().int().meta({ description: 'The number of members that the request leads to.' }),
  refusal: z.enum(refusalNames).nullable(),
  message: z.string().meta({ description: 'One sentence: what happened and why.' }),
  retry_after: z
    .number()
    .nonnegative()
    .nullable()
    .meta({ description: 'Seconds after which the same request may succeed; null when this is not known.' }),
});
export type ScalingOutcome = z.infer<typeof scalingOutcomeSchema>;

/** The orders in which members of a group leave. */
export const victimOrders = ['oldest', 'newest', 'unhealthy'] as const;
export type VictimOrder = (typeof victimOrders)[number];

const stepSchema = z.object({
  lower: z.number().nullable().meta({ description: 'Relative to the threshold; null: no bound.' }),
  upper: z.number().nullable(),
  adjustment: z.number(),
});
export type ScalingStep = z.infer<typeof stepSchema>;

/** How a policy computes the size from a value. */
export const scalingRuleSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('steps'), threshold: z.number(), steps: z.array(stepSchema).max(40) }),
  z.object({
    kind: z.literal('target'),
    target: z.number().positive(),
    tolerance: z.number().nonnegative(),
    scale_in: z.boolean(),
  }),
]);
export type ScalingRule = z.infer<typeof scalingRuleSchema>;

export const groupAdjust = message(
  'group.adjust',
  'A policy asks a group for another size. The group answers the client that signalled the policy.',
  z.object({
    stack_id: z.string().meta({ description: "The group's nested stack." }),
    policy: z.string(),
    adjustment_type: z.enum(['change_in_capacity', 'exact_capacity', 'percent_change_in_capacity']),
    adjustment: z.number(),
    min_step: z.number().int().nonnegative().nullable(),
    cooldown: z.number().nonnegative().nullable().meta({ description: "In seconds; null for the group's own value." }),
    cooldowns: z.object({ out: z.number().nonnegative(), in: z.number().nonnegative() }).optional().meta({
      description: 'Separate cooldowns after growing and shrinking, in seconds. Growing ends the one of shrinking.',
    }),
    rule: scalingRuleSchema.optional().meta({ description: 'Computes the adjustment from `value`.' }),
    value: z.number().nullable().optional().meta({ description: 'The measured value in the signal.' }),
    warm_up: z.number().nonnegative().optional().meta({
      description: 'Seconds during which a new member does not count. Meanwhile the group does not shrink.',
    }),
    victims: z.enum(victimOrders).optional().meta({ description: "Absent: the group's own order." }),
    reason: z.enum(scalingReasons).optional().meta({ description: 'Absent: a signal.' }),
    said: z.string().max(4096).optional().meta({ description: 'The reason in the signal, for example of an alarm.' }),
    asked: askedSchema.optional(),
    occasion: occasionSchema.optional().meta({ description: 'The policy that asks, and why.' }),
  }),
);

/** Actions on a group that scales. */
export const groupActSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('protect'),
    members: z.array(z.string()).min(1).max(1000),
    protected: z.boolean().meta({ description: 'A protected member never leaves when the group shrinks.' }),
  }),
  z.object({
    kind: z.literal('pause'),
    scaling: z
      .enum(['none', 'out', 'in', 'both'])
      .meta({ description: 'Which changes of size policies may not make. `none`: all may.' }),
  }),
  z.object({
    kind: z.literal('resize'),
    size: z.number().int().nonnegative(),
    message: z.string().max(1024).optional(),
  }),
  z.object({
    kind: z.literal('remove'),
    members: z.array(z.string()).min(1).max(1000),
    replace: z.boolean().meta({ description: 'True: new members take their place, and the size stays.' }),
    message: z.string().max(1024).optional(),
  }),
  z.object({
    kind: z.literal('refresh'),
    batch: z.number().int().positive().max(1000),
    checkpoints: z
      .array(z.number().int().min(1).max(100))
      .max(20)
      .meta({ description: 'Percentages, ascending: the refresh waits there until an operator continues it.' }),
  }),
  z.object({ kind: z.literal('continue refresh') }),
  z.object({ kind: z.literal('cancel refresh') }),
  z.object({
    kind: z.literal('decide'),
    token: z.string(),
    result: z.enum(['continue', 'abandon']),
    size: z.number().int().nonnegative().optional().meta({ description: 'Another size than the proposed one.' }),
    victims: z.array(z.string()).max(1000).optional().meta({ description: 'The members that leave.' }),
    message: z.string().max(1024).optional(),
  }),
  z.object({ kind: z.literal('heartbeat'), token: z.string() }),
]);
export type GroupAct = z.infer<typeof groupActSchema>;

const memberSchema = z.object({
  name: z.string(),
  resource_id: z.string().nullable(),
  status: z.string(),
  protected: z.boolean(),
  lost_since: z.iso.datetime().nullable(),
  lost_reason: z.string().nullable().optional().meta({ description: 'Its host is silent, or its node has a fault.' }),
  created_at: z.iso.datetime().nullable(),
  servers: z.array(jsonObject),
});

/** A wait of the group for a listener that decides. */
const decidingSchema = z.object({
  id: z.string(),
  token: z.string(),
  since: z.iso.datetime(),
  deadline: z.iso.datetime(),
  before: z.number().int(),
  after: z.number().int(),
  leaving: z.array(z.string()),
  candidates: z.array(z.string()),
});

const refreshSchema = z.object({
  id: z.string(),
  state: z.enum(['running', 'waiting', 'completed', 'failed', 'cancelled']),
  total: z.number().int(),
  done: z.number().int(),
  batch: z.number().int(),
  checkpoints: z.array(z.number().int()),
  since: z.iso.datetime(),
});

/** A group with its members, as readers see it. */
export const groupViewSchema = z.object({
  stack_id: z.string().meta({ description: "The group's own stack." }),
  stack_name: z.string(),
  name: z.string(),
  type: z.string(),
  status: z.string(),
  size: z.number().int(),
  min_size: z.number().int().nullable(),
  max_size: z.number().int().nullable(),
  paused: z.enum(['none', 'out', 'in', 'both']),
  cooldown_until: z.iso.datetime().nullable(),
  deciding: decidingSchema.nullable(),
  refresh: refreshSchema.nullable(),
  members: z.array(memberSchema),
  warm_pool: z
    .object({
      size: z.number().int().meta({ description: 'As the template says.' }),
      members: z.array(memberSchema),
      unfilled: z
        .object({ since: z.iso.datetime(), reason: z.string() })
        .optional()
        .meta({ description: 'Why the group does not fill it, as when a quota refuses the members; absent: it does.' }),
    })
    .optional()
    .meta({ description: 'The members that are complete and wait out of service; absent without a pool.' }),
  outcomes: z.array(scalingOutcomeSchema).meta({ description: 'The latest requests, the newest first; at most 20.' }),
});
export type GroupView = z.infer<typeof groupViewSchema>;

/** A group in a list: without its members. */
export const groupRowSchema = groupViewSchema
  .pick({
    stack_id: true,
    name: true,
    type: true,
    status: true,
    min_size: true,
    max_size: true,
    paused: true,
    refresh: true,
  })
  .extend({
    project: z.string(),
    root: z
      .object({ stack_id: z.string(), stack_name: z.string() })
      .nullable()
      .meta({ description: 'The stack that an operator created. Null while its deletion is not complete.' }),
    path: z.string().meta({ description: 'The path of the group in the root stack: `tier/workers`.' }),
    size: z.number().int().meta({ description: 'Members. While the size changes: those before the change.' }),
    wanted: z
      .number()
      .int()
      .meta({ description: 'The size that the change, or the decision of a listener, leads to.' }),
    entering: z.number().int().meta({ description: 'Members that the running change adds.' }),
    leaving: z.number().int().meta({ description: 'Members that the running change removes.' }),
    warm: z.number().int().meta({ description: 'Members of the warm pool: complete, and out of service.' }),
    lost: z.number().int().meta({ description: 'Members whose host is silent, or whose node has a fault.' }),
    deciding_until: z.iso.datetime().nullable().meta({ description: 'The deadline of a listener that decides.' }),
    outcome: scalingOutcomeSchema.nullable().meta({ description: 'The latest request and its outcome.' }),
  });
export type GroupRow = z.infer<typeof groupRowSchema>;

const which = z.object({
  project: z.string(),
  stack: z.string(),
  group: z.string().meta({ description: 'The name of the group in the stack.' }),
});

export const groupAct = call('group.act', 'Run an action on a group that scales.', {
  question: which.extend({ action: groupActSchema, occasion: occasionSchema.optional() }),
  answer: z.object({
    outcome: scalingOutcomeSchema.optional().meta({ description: 'For an action that asks for other members.' }),
    deadline: z.iso.datetime().optional().meta({ description: 'For a heartbeat: the new deadline.' }),
  }),
});

export const groupShow = call('group.show', 'Read a group that scales, and why it scaled or did not.', {
  question: which,
  answer: groupViewSchema,
});

export const groupList = call('group.list', 'List groups that scale, by project and id.', {
  question: z.object({
    project: z.string(),
    limit: z.number().int().positive().max(1000).optional(),
    marker: z.string().optional().meta({ description: 'The `stack_id` of the last group of the page before.' }),
    all_projects: z
      .boolean()
      .optional()
      .meta({ description: 'List the groups of every project. The caller must be an operator.' }),
  }),
  answer: z.object({ groups: z.array(groupRowSchema) }),
});

export const groupLost = message(
  'group.lost',
  'The host of a member fell silent or came back, or its node has a fault or none any more.',
  z.object({
    stack_id: z.string(),
    member: z.string(),
    host_id: z.string(),
    lost: z.boolean(),
    since: z.iso.datetime(),
    event: z.string(),
    sign: z
      .enum(['silence', 'fault'])
      .optional()
      .meta({ description: 'What showed the loss, or ended. Absent: silence of the host.' }),
    reason: z.string().optional().meta({ description: 'The fault of the node.' }),
  }),
);
