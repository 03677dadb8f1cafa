/**
 * The provider contract: how the engine has resources created, updated and deleted by the provider of their type.
 *
 * The engine sends a request to the provider's queue; the provider sends `resource.response`s to the request's
 * `replyto`.
 * - A request may arrive any number of times with the same `id`. Only its first run may have an effect; each is
 *   answered.
 * - `fence` grows with every new request for a resource. A provider does not answer a request with a lower fence than
 *   it has seen.
 * - Any number of `in progress` responses may precede the last one, which is `complete` or `failed`.
 * - Properties may hold sealed values (`{"$sealed": …}`); `runtime/secrets.ts` opens them.
 */
import { z } from 'zod';
import { message } from './define.ts';
import { driftSchema } from './drift.ts';
import { failureSchema } from './failure.ts';
import { json, jsonObject, sealableObject } from './json.ts';
import { askedSchema } from './envelope.ts';
import { originSchema } from './origin.ts';
import { replaceLostSchema } from './plan.ts';
import { resourceTypeSchema } from './resource-type.ts';

/** The requests that a provider may get. */
export const resourceActions = [
  'create',
  'update',
  'delete',
  'check',
  'suspend',
  'resume',
  'snapshot',
  'cancel',
  'signal',
] as const;
export type ResourceAction = (typeof resourceActions)[number];

/** Data for a nested stack besides the properties of its resource: only in requests to a nested stack. */
export const nestedRequestSchema = z.object({
  kind: z.enum(['template', 'group', 'stack']),
  source: z.string().meta({ description: 'Content hash of all its sources.' }),
  reads: z.array(z.array(json)).meta({ description: 'The parts that the parent stack reads: `[attribute, …path]`.' }),
  root: z.string(),
  depth: z.number().int().positive().meta({ description: 'Depth of the nested stack; the root is 0.' }),
  owner: z.string(),
  timeout_minutes: z
    .number()
    .nullable()
    .optional()
    .meta({ description: 'The limit of the parent stack; null for no limit.' }),
  revision: z.string().meta({
    description:
      'The update of the root that this request belongs to. A resource that every update renews is renewed once for each.',
  }),
  environment: z.string().meta({ description: 'Content hashes, from the parent stack.' }),
  files: z.string(),
  facade: z.object({ metadata: json, deletion_policy: z.string(), update_policy: json }),
  replace_lost: replaceLostSchema.optional().meta({
    description: 'Which lost members a group replaces, when the environment says so.',
  }),
  restores: z.boolean().optional().meta({
    description:
      'True when the tree is rolled back. No quota refuses such a request, because it restores what existed.',
  }),
  shows_servers: z
    .boolean()
    .optional()
    .meta({ description: 'True inside the member of a group that scales: the answer lists its servers.' }),
  resources_outside: z
    .number()
    .int()
    .nonnegative()
    .meta({ description: 'The number of resources of the tree that are outside it.' }),
});
export type NestedRequest = z.infer<typeof nestedRequestSchema>;

const request = z.object({
  resource: z.object({
    id: z.string().meta({ description: 'UUID of this incarnation of the resource; a replacement has another one.' }),
    name: z.string(),
    type: z.string(),
    physical_name: z.string().meta({
      description: '`<stack>-<resource>-<12 characters>`: a name for the physical object, chosen before it exists.',
    }),
  }),
  stack: z.object({ id: z.string(), name: z.string() }),
  traversal: z
    .string()
    .meta({ description: 'The id of the traversal; with `fence` it distinguishes repeated work from new work.' }),
  fence: z.number().int().positive(),
  deadline: z.iso.datetime().meta({ description: 'After this time the engine no longer waits for the answer.' }),
  physical_id: z.string().nullable().meta({ description: 'The id from earlier responses; null before the first.' }),
  properties: sealableObject.meta({ description: 'Resolved properties, with defaults filled in.' }),
  attributes: jsonObject.meta({ description: 'Attributes as last reported.' }),
  abandon: z.boolean().optional().meta({
    description:
      'On a deletion: forget the object and leave it in place. `adopt`, on a creation: take over the described object.',
  }),
  adopt: jsonObject.optional(),
  nested: nestedRequestSchema.optional(),
  after: z
    .array(z.object({ id: z.string(), fence: z.number().int().positive() }))
    .optional()
    .meta({
      description:
        'Only for types that announce `queue`: requests for other resources that must complete first. They were sent before this one.',
    }),
  origin: originSchema
    .optional()
    .meta({ description: 'Where the resource is, who asked and why. Absent in requests of older versions.' }),
  operator: z.string().optional().meta({
    description:
      'The id of the operator for whom the stack acts. Only set while each plan of the stack came from operators.',
  }),
});
/** A request of the engine to a provider. */
export const resourceRequestSchema = request;
export type ResourceRequest = z.infer<typeof resourceRequestSchema>;

/** A request to update an object in place. */
export const resourceUpdateSchema = request.extend({
  old_properties: sealableObject,
  changed: z.array(z.string()).meta({ description: 'Names of the properties whose values differ.' }),
});
export type ResourceUpdate = z.infer<typeof resourceUpdateSchema>;

/** A request to pass a signal to a resource. */
export const resourceSignalSchema = request.extend({
  signal: json,
  asked: askedSchema
    .optional()
    .meta({ description: 'The question that the provider answers, with the outcome of the signal.' }),
});

export const resourceCreate = message('resource.create', 'Create the physical object of a resource.', request);
export const resourceUpdate = message('resource.update', 'Update the physical object in place.', resourceUpdateSchema);
export const resourceDelete = message(
  'resource.delete',
  'Delete the physical object. Success if it does not exist.',
  request,
);
export const resourceCheck = message('resource.check', 'Compare the resource with the physical object.', request);
export const resourceSuspend = message('resource.suspend', 'Suspend the physical object and keep its data.', request);
export const resourceResume = message('resource.resume', 'Resume the suspended physical object.', request);
export const resourceSnapshot = message(
  'resource.snapshot',
  'Save a copy of the current state of the physical object.',
  request,
);
/**
 * Sent to nested stacks, and to providers of types that announce `cancels`; the fence is that of the request to cancel.
 * The answer to that request follows.
 */
export const resourceCancel = message(
  'resource.cancel',
  'Stop the action in progress and keep its partial result.',
  request,
);
/** Sent to providers of types that announce `withdraws`; the fence is that of the request to withdraw. */
export const resourceWithdraw = message(
  'resource.withdraw',
  'The request is no longer wanted: answer it as failed if its work has not begun. Work that has begun goes on.',
  request,
);
export const resourceSignal = message('resource.signal', 'Pass a signal to the resource.', resourceSignalSchema);

/** A leaf that failed, by its path from the reporting stack: `a`, or `a.resources.b` in a nested stack. */
export const leafFailureSchema = z.object({ resource: z.string(), type: z.string(), failure: failureSchema });
export type LeafFailure = z.infer<typeof leafFailureSchema>;

/** A response of a provider to the engine. */
export const resourceResponseSchema = z.object({
  resource_id: z.string(),
  stack_id: z.string(),
  action: z.enum(resourceActions),
  fence: z.number().int().positive(),
  status: z.enum(['in progress', 'complete', 'failed']),
  physical_id: z.string().optional(),
  attributes: jsonObject
    .optional()
    .meta({ description: 'All attributes; replaces those reported before. Absent: unchanged.' }),
  message: z.string().max(4096).optional().meta({ description: 'Its current work or wait, for people.' }),
  error: failureSchema.optional(),
  replace: z
    .boolean()
    .optional()
    .meta({ description: 'On a failed update: the provider can only do it with a new object.' }),
  drift: z
    .array(driftSchema)
    .optional()
    .meta({ description: 'On a check: the differences. With `failed` it is also unhealthy. Empty: no difference.' }),
  snapshot: jsonObject.optional().meta({ description: 'On a snapshot: the data for a restoration.' }),
  failures: z
    .array(leafFailureSchema)
    .max(100)
    .optional()
    .meta({ description: 'On the failure of a nested stack: its leaves, the first cause first.' }),
  sequence: z.number().int().optional().meta({
    description:
      'From a nested stack: grows with every answer. An answer may come without a request when its attributes have changed.',
  }),
  used: z.array(z.string()).optional().meta({
    description: 'From a nested stack: the names of the sources that it, and the stacks in it, were compiled from.',
  }),
});
export type ResourceResponse = z.infer<typeof resourceResponseSchema>;

export const resourceResponse = message(
  'resource.response',
  'Progress or result of a request to a provider. Sent to the replyto of the request.',
  resourceResponseSchema,
);

/** Sent by the bus to the `replyto` of a request, so that no process waits for an answer that does not come. */
export const requestDied = message(
  'request.died',
  'A request became a dead letter; sent instead of its answer.',
  z.object({
    dead_letter: z.string(),
    queue: z.string().meta({ description: 'The queue in which the request died.' }),
    request: z.object({
      id: z.string(),
      type: z.string(),
      subject: z.string().optional().meta({ description: 'For a request about a resource: the id of the resource.' }),
    }),
    failure: failureSchema,
  }),
);

/** Sent by the bus to the process that replayed a dead letter, when the message has ended again. */
export const replayEnded = message(
  'replay.ended',
  'A message that was replayed was handled, or is a dead letter again.',
  z.discriminatedUnion('outcome', [
    z.object({ outcome: z.literal('handled') }),
    z.object({ outcome: z.literal('died'), dead_letter: z.string(), failure: failureSchema }),
  ]),
);

/** The types that a provider serves, and its queue. */
export const providerAnnouncementSchema = z.object({
  provider: z.string().meta({
    description:
      'Unique name, e.g. `anneal.provisioning`. A later announcement of the same provider replaces the earlier one.',
  }),
  queue: z.string().meta({ description: 'The queue for its requests.' }),
  types: z.array(resourceTypeSchema),
});
export type ProviderAnnouncement = z.infer<typeof providerAnnouncementSchema>;

/** Sent to `anneal.templating.requests` and `anneal.scheduling.requests` at every start of the provider. */
export const providerAnnounced = message(
  'provider.announced',
  'A provider announces the resource types that it serves and its queue.',
  providerAnnouncementSchema,
);
