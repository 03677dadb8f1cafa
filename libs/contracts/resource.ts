/**
 * The provider contract: how the engine has resources created, updated and deleted by whoever serves their type.
 *
 * The engine sends a request to the provider's queue; the provider sends `resource.response`s to the request's `replyto`.
 * - A request may come any number of times, with the same `id`; only its first run may have an effect, and each is answered.
 * - `fence` grows with every new request for a resource. A provider that has seen a higher one answers nothing to a lower one.
 * - Any number of `in progress` responses may precede the last one, which is `complete` or `failed`.
 * - Properties may hold sealed values (`{"$sealed": …}`); `runtime/secrets.ts` opens them.
 */
import { z } from 'zod';
import { message } from './define.ts';
import { failureSchema } from './errors.ts';
import { json, jsonObject } from './json.ts';
import { resourceTypeSchema } from './resource-type.ts';

export const resourceActions = ['create', 'update', 'delete', 'check', 'signal'] as const;
export type ResourceAction = (typeof resourceActions)[number];

const request = z.object({
  resource: z.object({
    /** UUID of this incarnation of the resource; a replacement has another one. */
    id: z.string(),
    name: z.string(),
    type: z.string(),
    /** `<stack>-<resource>-<12 characters>`: a name for the physical object, chosen before it exists. */
    physical_name: z.string(),
  }),
  stack: z.object({ id: z.string(), name: z.string() }),
  /** The id of the traversal; together with `fence` it tells repeated work from new work. */
  traversal: z.string(),
  fence: z.number().int().positive(),
  /** After this moment nobody waits for the answer. */
  deadline: z.iso.datetime(),
  /** What earlier responses said; null before the first. */
  physical_id: z.string().nullable(),
  /** Resolved properties, defaults filled in. */
  properties: jsonObject,
  /** Attributes as last reported. */
  attributes: jsonObject,
});
export const resourceRequestSchema = request;
export type ResourceRequest = z.infer<typeof resourceRequestSchema>;

export const resourceUpdateSchema = request.extend({
  old_properties: jsonObject,
  /** Names of the properties whose value differs. */
  changed: z.array(z.string()),
});
export type ResourceUpdate = z.infer<typeof resourceUpdateSchema>;

export const resourceSignalSchema = request.extend({ signal: json });

export const resourceCreate = message('resource.create', 'Create the physical object of a resource.', request);
export const resourceUpdate = message('resource.update', 'Change it in place.', resourceUpdateSchema);
export const resourceDelete = message('resource.delete', 'Delete it; absent already is success.', request);
export const resourceCheck = message('resource.check', 'Compare it with what is really there.', request);
export const resourceSignal = message('resource.signal', 'Hand a signal from outside to it.', resourceSignalSchema);

export const resourceResponseSchema = z.object({
  resource_id: z.string(),
  stack_id: z.string(),
  action: z.enum(resourceActions),
  fence: z.number().int().positive(),
  status: z.enum(['in progress', 'complete', 'failed']),
  physical_id: z.string().optional(),
  /** All attributes, replacing what was reported before. Absent: unchanged. */
  attributes: jsonObject.optional(),
  /** What it is doing or waiting for, for people. */
  message: z.string().max(4096).optional(),
  error: failureSchema.optional(),
  /** Of a failed update: the provider can only do this by a new object. */
  replace: z.boolean().optional(),
});
export type ResourceResponse = z.infer<typeof resourceResponseSchema>;

export const resourceResponse = message(
  'resource.response',
  'How a request to a provider is going, or ended. Sent to the request’s replyto.',
  resourceResponseSchema,
);

export const providerAnnouncementSchema = z.object({
  /** Unique name, e.g. `anneal.provisioning`. A later announcement of the same provider replaces the earlier one. */
  provider: z.string(),
  /** Where it takes requests. */
  queue: z.string(),
  types: z.array(resourceTypeSchema),
});
export type ProviderAnnouncement = z.infer<typeof providerAnnouncementSchema>;

/** Sent to `anneal.templating.requests` and `anneal.scheduling.requests` at every start of the provider. */
export const providerAnnounced = message(
  'provider.announced',
  'A provider says which resource types it serves and on which queue.',
  providerAnnouncementSchema,
);
