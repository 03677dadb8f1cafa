/**
 * Confirmation: a listener agrees before it receives the first event. It proves with a signature that it has received
 * the address of the confirmation; the subscriber never sees it.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import { change } from '@anneal/store/change.ts';
import { randomUUID } from 'node:crypto';
import type { SettingsOf } from '@anneal/runtime/service/settings.ts';
import type { notificationSettings } from '../settings.ts';
import { sendOneMail, type MailServer } from '../sinks/mail.ts';
import { noMailServer } from '../delivery/open-sink.ts';
import { readSinkAddress } from '../sinks/sink-address.ts';
import { publicLookup } from '../sinks/public-address.ts';
import { askWebhook, postOnce, type ValidationAnswer } from '../sinks/validation.ts';
import type { SubscriptionDocument, Subscriptions } from '../documents/subscription.ts';

/** A signature is valid for so long. */
const validSeconds = 3 * 86_400;

interface ConfirmationOptions {
  readonly context: Pick<ServiceContext, 'secrets' | 'gatewayUrl' | 'now'>;
  readonly subscriptions: Subscriptions;
}

/** The text that a confirmation signs. A subscription with another address needs another signature. */
const signedText = (id: string, url: string, expires: number): string =>
  `subscription.confirm\n${id}\n${url}\n${expires}`;

type ConfirmationSettings = Pick<
  SettingsOf<typeof notificationSettings>,
  'timeoutMs' | 'allowPrivate' | 'smtpUrl' | 'mailFrom'
>;

/** The SMTP server of the settings, if they name one. */
export const mailServerOf = ({
  smtpUrl: url,
  mailFrom: from,
  timeoutMs,
}: ConfirmationSettings): MailServer | undefined => (url === undefined ? undefined : { url, from, timeoutMs });

/** Whether a recipient of mail is outside the domains to which the operator lets the server write unasked. */
export const hasForeignDomain = (
  recipients: readonly string[],
  { mailDomains }: Pick<SettingsOf<typeof notificationSettings>, 'mailDomains'>,
): boolean => recipients.some((each) => !mailDomains.has(each.slice(each.lastIndexOf('@') + 1).toLowerCase()));

/** Asks the listener of an unconfirmed subscription, and confirms the subscription when a webhook agrees at once. */
export async function askListener(
  { context, subscriptions }: ConfirmationOptions,
  { id, url, name }: Pick<SubscriptionDocument, 'id' | 'url' | 'name'>,
  settings: ConfirmationSettings,
): Promise<ValidationAnswer> {
  const { timeoutMs, allowPrivate } = settings;
  const { gatewayUrl, secrets, now } = context;
  const expires = Math.floor(now().getTime() / 1000) + validSeconds;
  const signature = encodeURIComponent(secrets.sign(signedText(id, url, expires)));
  const callback = `${gatewayUrl}/api/v1/subscriptions/${id}/confirm?expires=${expires}&signature=${signature}`;
  const address = readSinkAddress(url, { allowPrivate });
  const answer =
    address.kind === 'mail'
      ? await askRecipients(mailServerOf(settings), { recipients: address.recipients, name, callback })
      : await askWebhook({
          url,
          origin: new URL(gatewayUrl).hostname,
          callback,
          timeoutMs,
          lookup: allowPrivate ? undefined : publicLookup,
        });
  await change(subscriptions, id, (current) => {
    if (current.status !== 'unconfirmed') return undefined;
    return answer.isAllowed
      ? { ...current, status: 'active' as const, last_error: null, ...rateOf(answer.rate) }
      : { ...current, last_error: answer.error };
  });
  return answer;
}

const rateOf = (rate: number | undefined): Pick<SubscriptionDocument, 'allowed_rate'> =>
  rate === undefined ? {} : { allowed_rate: rate };

/** Sends the address of the confirmation by mail. Several recipients: the first one that requests it confirms for all. */
async function askRecipients(
  server: MailServer | undefined,
  { recipients, name, callback }: { recipients: readonly string[]; name: string; callback: string },
): Promise<ValidationAnswer> {
  if (!server) return { isAllowed: false, status: null, error: noMailServer().message };
  const { outcome } = await sendOneMail(server, {
    id: randomUUID(),
    recipients,
    subject: '[Anneal] Confirm that you want to receive events',
    text: `Someone has subscribed this address to events of Anneal${name === '' ? '' : ` (${name})`}.\n\nTo receive them, open this address within three days:\n${callback}\n\nOtherwise ignore this mail: you receive no other one.\n`,
  });
  const { status, error } = outcome;
  return { isAllowed: false, status, error: error ?? 'a mail asks the recipient to confirm' };
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
  { id, expires, signature, rate }: { id: string; expires: number; signature: string; rate?: number | undefined },
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
    current.status === 'unconfirmed'
      ? {
          ...current,
          status: 'active',
          last_error: null,
          ...rateOf(rate),
          ...(current.queue && { queue: { ...current.queue, confirmed: true } }),
        }
      : undefined,
  );
  return document;
}
