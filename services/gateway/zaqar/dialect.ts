/**
 * The differences in format between the three versions of the queue API. Everything else is one implementation.
 *
 * | | v1 | v1.1 | v2 |
 * | --- | --- | --- | --- |
 * | Client-ID | optional | required | required |
 * | messages are posted as | a list | `{"messages": […]}` | `{"messages": […]}` |
 * | a claim answers | a list | `{"messages": […]}` | `{"messages": […]}` |
 * | nothing there | 204 | 200 and an empty list | 200 and an empty list |
 * | a message has an `id` | no | yes | yes |
 * | a queue's metadata | `/metadata` | the queue itself | the queue itself, with reserved keys |
 */
import type { QueueMessage, QueueView } from '@anneal/contracts/calls/queues.ts';
import { json, type JsonObject } from '@anneal/contracts/json.ts';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import type { SubscriberTrusts } from '../identity/subscriber-trusts.ts';
import type { QueueRequestLimits } from './limits.ts';
import { aliasOf } from './queues/queue-alias.ts';

export interface Dialect {
  readonly version: 'v1' | 'v1.1' | 'v2';
  /**
   * `/v2`. Clients append it to the catalog's endpoint or resolve it against the host, and both addresses are served.
   */
  readonly path: string;
  readonly clientIdRequired: boolean;
  /** v1 posts and answers bare lists. */
  readonly lists: boolean;
}

/** The facts that the routes of queues and messages need. */
export interface QueueRouteOptions {
  readonly ask: Ask;
  readonly dialect: Dialect;
  readonly limits: QueueRequestLimits;
  readonly trusts: SubscriberTrusts;
}

const dialect = (version: Dialect['version']): Dialect => ({
  version,
  path: `/${version}`,
  clientIdRequired: version !== 'v1',
  lists: version === 'v1',
});

export const dialects: readonly Dialect[] = [dialect('v1'), dialect('v1.1'), dialect('v2')];

export const queueHref = ({ path }: Dialect, queue: string): string => `${path}/queues/${encodeURIComponent(queue)}`;
export const messageHref = (spoken: Dialect, queue: string, message: QueueMessage): string =>
  `${queueHref(spoken, queue)}/messages/${message.id}${message.claim_id === null ? '' : `?claim_id=${message.claim_id}`}`;

export const messageSchema = z
  .object({
    id: z.string().optional().meta({ description: 'Not in v1.' }),
    href: z.string(),
    ttl: z.number().meta({ description: 'Seconds.' }),
    age: z.number().meta({ description: 'Seconds.' }),
    body: json,
  })
  .meta({ id: 'QueuedMessage' });
/** Messages as a list in v1, and in an object otherwise. */
export const messagesSchema = ({ lists }: Dialect): z.ZodType =>
  lists ? z.array(messageSchema) : z.object({ messages: z.array(messageSchema) });

export function messageBody(spoken: Dialect, queue: string, message: QueueMessage): z.output<typeof messageSchema> {
  return {
    ...(!spoken.lists && { id: message.id }),
    href: messageHref(spoken, queue, message),
    ttl: message.ttl,
    age: message.age,
    body: message.body,
  };
}

/** The metadata of a queue, and the size limit of its posts, which only the configuration service knows. */
export type Described = Pick<QueueView, 'metadata' | 'post_bytes'>;

/** The reserved keys that v2 shows for every queue, with their defaults. */
const reservedKeys = (postBytes = 262_144): JsonObject => ({
  _max_messages_post_size: postBytes,
  _default_message_ttl: 3600,
  _default_message_delay: 0,
  _dead_letter_queue: null,
  _dead_letter_queue_messages_ttl: null,
  _max_claim_count: null,
  _enable_encrypt_messages: false,
});

export const metadataBody = ({ version }: Dialect, { metadata, post_bytes: postBytes }: Described): JsonObject =>
  version === 'v2' ? { ...reservedKeys(postBytes), ...metadata } : metadata;
/** The metadata to store: without reserved keys that have their default value. */
export function ownMetadata({ metadata, post_bytes: postBytes }: Described): JsonObject {
  const reserved = reservedKeys(postBytes);
  return Object.fromEntries(
    Object.entries(metadata).filter(([key, value]) => !(key in reserved && reserved[key] === value)),
  );
}

/** The metadata of a queue. */
export const metadataSchema = z.looseObject({});
export const linksSchema = z.array(z.object({ rel: z.string(), href: z.string() }));
export const listedQueueSchema = z
  .object({ name: z.string(), href: z.string(), metadata: metadataSchema.optional() })
  .meta({ id: 'ListedQueue' });

/** A queue in a list. */
export const queueBody = (spoken: Dialect, name: string): z.output<typeof listedQueueSchema> => {
  const listed = aliasOf(name);
  return { name: listed, href: queueHref(spoken, listed) };
};
