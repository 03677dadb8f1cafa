/** The events of groups. Their subject is the group's own stack; they are in order per group. */
import { z } from 'zod';
import { scalingOutcomeSchema, scalingReasons } from './calls/scaling.ts';
import { event } from './define.ts';
import { failureSchema } from './failure.ts';
import { json, jsonObject } from './json.ts';
import { originSchema } from './origin.ts';

const groupData = z.object({
  origin: originSchema,
  stack_id: z.string().meta({ description: "The group's own stack." }),
  stack_name: z.string(),
  group: z.string().meta({ description: 'The name of the group in the stack around it.' }),
  parent_stack_id: z.string().meta({ description: 'The stack around the group.' }),
  version: z.number().int(),
});
export type GroupEventData = z.infer<typeof groupData>;

const why = {
  id: z.string().meta({ description: 'The id of the request. All events of one scaling have the same.' }),
  reason: z.enum(scalingReasons),
  policy: z.string().nullable().meta({ description: 'The name of the policy; null when none decided.' }),
};
const sizes = {
  before: z.number().int().meta({ description: 'The number of members before and after.' }),
  after: z.number().int(),
};
const scalingData = groupData.extend({
  ...why,
  ...sizes,
  message: z.string().nullable().meta({ description: 'What the requester said.' }),
  entering: z.array(z.string()).meta({ description: 'The names of the members that come and go.' }),
  leaving: z.array(z.string()),
});
const outcome = scalingOutcomeSchema.shape;

const decidingData = scalingData.omit({ entering: true }).extend({
  candidates: z.array(z.string()).meta({ description: 'The members of which the leaving ones were chosen, in order.' }),
  token: z.string().meta({ description: 'Proves that an answer is for this wait.' }),
  deadline: z.iso.datetime(),
  default_result: z.enum(['continue', 'abandon']),
  metadata: jsonObject,
  url: z.string().meta({ description: 'POST the answer here; it needs no login, and is valid for this wait only.' }),
});

const refreshData = groupData.extend({
  id: z.string(),
  total: z.number().int(),
  done: z.number().int(),
  batch: z.number().int(),
  reason: z.string(),
});

/** A server of a member. The host of a server has the same id. */
export const memberServerSchema = z.object({
  server_id: z.string(),
  name: z.string().nullable(),
  addresses: json.meta({ description: 'By network, as the server reports them.' }),
  first_address: z.string().nullable(),
});
export type MemberServer = z.infer<typeof memberServerSchema>;

const memberData = groupData.extend({
  member: z.string(),
  resource_id: z.string().meta({ description: 'This incarnation of the member; a replacement has another one.' }),
  physical_id: z.string().nullable(),
  type: z.string(),
  servers: z.array(memberServerSchema).meta({ description: 'The servers of the member, at most 16.' }),
  id: z.string().nullable().meta({ description: 'The id of the scaling; null when no scaling changes the member.' }),
  reason: z
    .enum([...scalingReasons, 'create', 'delete'])
    .meta({ description: '`create`, `delete`: of the whole group. `update`: of its definition or its stack.' }),
  policy: why.policy,
  ...sizes,
});

const scaling = <S extends string, T>(stage: S, description: string, data: z.ZodType<T>) =>
  event(`group.scaling.${stage}` as const, description, data);
const refresh = <S extends string>(stage: S, description: string) =>
  event(`group.refresh.${stage}` as const, description, refreshData);

/** Events of scalings and refreshes. */
export const groupEvent = {
  started: scaling('started', 'A group began to change its members.', scalingData),
  completed: scaling('completed', 'A group has its new members.', scalingData),
  failed: scaling(
    'failed',
    'A change of the members of a group failed, or another action superseded it.',
    scalingData.extend({ failure: failureSchema }),
  ),
  refused: scaling(
    'refused',
    'A request for other members was refused; nothing changed.',
    groupData.extend({
      ...why,
      ...sizes,
      refusal: outcome.refusal,
      message: outcome.message,
      retry_after: outcome.retry_after,
    }),
  ),
  deciding: scaling(
    'deciding',
    'A group waits until a listener accepts, changes or refuses a change of its members. Heartbeats extend the wait.',
    decidingData,
  ),
  refreshStarted: refresh('started', 'A group began to replace all its members, in batches.'),
  refreshWaiting: refresh('waiting', 'A refresh waits at a checkpoint until it is continued.'),
  refreshCompleted: refresh('completed', 'A refresh has replaced all members.'),
  refreshFailed: refresh('failed', 'A refresh stopped, because a batch failed.'),
  refreshCancelled: refresh('cancelled', 'A refresh was cancelled; members that were replaced stay.'),
};

/** Events of members. A member is in service between `entered` and `leaving`. */
export const memberEvent = {
  entering: event(
    'group.member.entering',
    'The creation of a member began, or a member leaves the warm pool.',
    memberData,
  ),
  entered: event(
    'group.member.entered',
    'A member is complete, and every `launching` hook is passed: it may be used.',
    memberData,
  ),
  leaving: event(
    'group.member.leaving',
    'A member is about to be deleted. A `terminating` hook holds it until a listener completes the hook.',
    memberData,
  ),
  left: event('group.member.left', 'A member was deleted.', memberData),
};
