/**
 * Confirmation: a listener agrees before it receives the first event. It proves with a signature that it has received
 * the address of the confirmation; the subscriber never sees it.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import { change } from '@anneal/store/change.ts';
import { publicLookup } from './sinks/public-address.ts';
import { askWebhook, postOnce, type ValidationAnswer } from './sinks/validation.ts';
import type { SubscriptionDocument, Subscriptions } from './subscriptions.ts';

/** A signature is valid for so long. */
const validSeconds = 3 * 86_400;

interface ConfirmationOptions {
  readonly context: Pick<ServiceContext, 'secrets' | 'gatewayUrl' | 'now'>;
  readonly subscriptions: Subscriptions;
}

/** The text that a confirmation signs. A subscription with another address needs another signature. */
const signedText = (id: string, url: string, expires: number): string =>
  `subscription.confirm\n${id}\n${url}\n${expires}`;

/** Asks the webhook of an unconfirmed subscription, and confirms the subscription when the webhook agrees at once. */
export async function validateWebhook(
  { context, subscriptions }: ConfirmationOptions,
  { id, url }: SubscriptionDocument,
  { timeoutMs, allowPrivate }: { timeoutMs: number; allowPrivate: boolean },
): Promise<ValidationAnswer> {
  const { gatewayUrl, secrets, now } = context;
  const expires = Math.floor(now().getTime() / 1000) + validSeconds;
  const signature = encodeURIComponent(secrets.sign(signedText(id, url, expires)));
  const answer = await askWebhook({
    url,
    origin: new URL(gatewayUrl).hostname,
    callback: `${gatewayUrl}/api/v1/subscriptions/${id}/confirm?expires=${expires}&signature=${signature}`,
    timeoutMs,
    lookup: allowPrivate ? undefined : publicLookup,
  });
  await change(subscriptions, id, (current) => {
    if (current.status !== 'unconfirmed') return undefined;
    return answer.isAllowed
      ? { ...current, status: 'active' as const, last_error: null }
      : { ...current, last_error: answer.error };
  });
  return answer;
}

export interface ConfirmationProof {
  /** In seconds since the epoch. */
  readonly expires: number;
  readonly signature: string;
}

/** @throws AnnealError Forbidden for a wrong or expired signature */
export function checkProof(
  { secrets, now }: Pick<ServiceContext, 'secrets' | 'now'>,
  { id, url }: SubscriptionDocument,
  { expires, signature }: ConfirmationProof,
): void {
  const isValid = expires * 1000 >= now().getTime() && secrets.isSigned(signedText(id, url, expires), signature);
  if (!isValid) throw new AnnealError('Forbidden', `The signature for subscription ${id} is wrong or has expired.`);
}

/** Sends the confirmation message of Zaqar to the subscriber of a queue, once. A subscriber that is away gets none. */
export async function postConfirmation(
  { secrets, gatewayUrl, now }: Pick<ServiceContext, 'secrets' | 'gatewayUrl' | 'now'>,
  { id, url, project, queue: source }: SubscriptionDocument,
  { timeoutMs, allowPrivate }: { timeoutMs: number; allowPrivate: boolean },
): Promise<void> {
  const expires = Math.floor(now().getTime() / 1000) + validSeconds;
  const queue = source?.name ?? '';
  const path = `/messaging/v2/queues/${encodeURIComponent(queue)}/subscriptions/${id}/confirm`;
  const body = {
    Message_Type: 'SubscriptionConfirmation',
    Message: `You have chosen to subscribe to the queue: ${queue}. This queue belongs to project: ${project}. To confirm the subscription, visit the URL in this message.`,
    queue_name: queue,
    'URL-Signature': secrets.sign(signedText(id, url, expires)),
    'URL-Methods': 'PUT',
    'URL-Paths': path,
    'X-Project-ID': project,
    'URL-Expires': String(expires),
    SubscribeBody: { confirmed: true },
    UnsubscribeBody: { confirmed: false },
    WSGISubscribeURL: `${gatewayUrl}${path}`,
    SubscribeURL: [`${gatewayUrl}${path}`],
  };
  const lookup = allowPrivate ? undefined : publicLookup;
  await postOnce(url, JSON.stringify(body), { timeoutMs, lookup });
}

/**
 * Confirms a subscription. A repeat changes nothing.
 * @throws AnnealError Forbidden for a wrong or expired signature, also when there is no such subscription
 */
export async function confirmSubscription(
  { context, subscriptions }: ConfirmationOptions,
  { id, expires, signature }: { id: string; expires: number; signature: string },
): Promise<SubscriptionDocument> {
  const found = await subscriptions.get(id);
  const isValid =
    found !== undefined &&
    expires * 1000 >= context.now().getTime() &&
    context.secrets.isSigned(signedText(id, found.url, expires), signature);
  if (!isValid) {
    throw new AnnealError(
      'Forbidden',
      `Cannot confirm subscription ${id}: the signature is wrong or has expired. Ask for another with \`anneal subscription test ${id}\`.`,
    );
  }
  const { document = found } = await change(subscriptions, found, (current) =>
    current.status === 'unconfirmed' ? { ...current, status: 'active', last_error: null } : undefined,
  );
  return document;
}
