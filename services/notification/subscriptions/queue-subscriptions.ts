/**
 * Subscriptions to queues, as in Zaqar: each message of a queue goes to a webhook or by mail. Configuration publishes the messages
 * of such a queue as `queue.message.posted` events, and a subscription to these delivers them, in the order of the queue.
 */
import { answer, type MessageRoute } from '@anneal/bus/consume/route.ts';
import {
  queueSubscriptionCreate,
  queueSubscriptionDelete,
  queueSubscriptionList,
  queueSubscriptionUpdate,
  type QueueSubscription,
} from '@anneal/contracts/calls/queue-subscriptions.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { queueMessagePosted } from '@anneal/contracts/events.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { SettingsOf } from '@anneal/runtime/service/settings.ts';
import { change } from '@anneal/store/change.ts';
import { askListener, checkProof, hasForeignDomain, postConfirmation, type ConfirmationProof } from './confirmation.ts';
import type { Dispatch } from './dispatch.ts';
import type { NotificationQuotas } from '../quotas.ts';
import type { notificationSettings } from '../settings.ts';
import { mistakesInOptions } from '../sinks/rendering.ts';
import { readSinkAddress, trustedPath, type SinkAddress } from '../sinks/sink-address.ts';
import {
  createSubscription,
  subscriptionEnd,
  type SubscriptionDocument,
  type Subscriptions,
} from '../documents/subscription.ts';

export interface QueueSubscriptionOptions {
  readonly context: ServiceContext;
  readonly settings: SettingsOf<typeof notificationSettings>;
  readonly quotas: NotificationQuotas;
  readonly subscriptions: Subscriptions;
  readonly dispatch: Dispatch;
  /** Deletes a subscription with its deliveries. */
  readonly remove: (subscription: SubscriptionDocument) => Promise<void>;
}

interface OfQueue {
  readonly project: string;
  readonly queue: string;
}

export function queueSubscriptionRoutes(options: QueueSubscriptionOptions): MessageRoute[] {
  const { context, quotas, subscriptions, settings, dispatch, remove } = options;
  const now = (): number => context.now().getTime();

  return [
    answer(context, queueSubscriptionCreate, async ({ data }) => {
      const address = checkSubscriber(data, settings);
      const before = (await listed(options, data)).find(({ url }) => url === data.subscriber);
      if (before) {
        await askSubscriber(options, before);
        return { subscription_id: before.id };
      }
      const { id, project, queue, subscriber, ttl, options: given } = data;
      const { document } = await createSubscription({
        subscriptions,
        secrets: context.secrets,
        wanted: {
          id,
          project,
          name: `queue ${queue}`,
          url: subscriber,
          types: [queueMessagePosted.type],
          subject_prefix: '',
          filters: [{ exact: { subject: queue } }],
          format: 'zaqar',
          confirm: mustConfirm(address, settings),
          queue: { name: queue, ttl, since: now(), options: given, confirmed: false },
        },
        cursor: await dispatch.events.last(),
        admit: quotas.admissionsTo('subscriptions'),
        now: context.now(),
      });
      await askSubscriber(options, document);
      await dispatch.wake([document]);
      return { subscription_id: document.id };
    }),
    answer(context, queueSubscriptionList, async ({ data }) => {
      const found = await listed(options, data);
      const wanted = data.id === undefined ? found : found.filter(({ id }) => id === data.id);
      return { subscriptions: wanted.map((each) => viewOfQueueSubscription(each, now())) };
    }),
    answer(context, queueSubscriptionUpdate, async ({ data }) => {
      const found = await subscriptions.get(data.id);
      const isHere = found?.queue?.name === data.queue && (!data.project || found.project === data.project);
      if (!found || !isHere || subscriptionEnd(found) <= now()) throw noSubscription(data.id);
      if (data.proof) checkProof(context, found, data.proof);
      else if (data.project === undefined || (data.confirmed === true && found.status === 'unconfirmed'))
        throw onlyListener(data.id);
      const subscriber = data.subscriber ?? found.url;
      const isAsked = !data.proof && mustConfirm(checkSubscriber({ ...data, subscriber }, settings), settings);
      const { document = found } = await change(subscriptions, found, (current) =>
        changed(current, { ...data, mustConfirm: isAsked }, now()),
      );
      if (document.url !== found.url) await askSubscriber(options, document);
      await dispatch.wake([document]);
      return {};
    }),
    answer(context, queueSubscriptionDelete, async ({ data }) => {
      for (const each of await listed(options, data)) if ((data.id ?? each.id) === each.id) await remove(each);
      return {};
    }),
  ];
}

/** Asks the subscriber of an unconfirmed subscription to confirm it. */
async function askSubscriber(options: QueueSubscriptionOptions, subscription: SubscriptionDocument): Promise<void> {
  if (subscription.status !== 'unconfirmed') return;
  const { context, settings } = options;
  if (subscription.url.startsWith('mailto:')) await askListener(options, subscription, settings);
  else await postConfirmation(context, subscription, settings);
}

/** The subscriptions to a queue, the oldest first. Removes those that have ended. */
async function listed(
  { subscriptions, context, remove }: QueueSubscriptionOptions,
  { project, queue }: OfQueue,
): Promise<SubscriptionDocument[]> {
  const all = await subscriptions.find({ where: { project }, orderBy: ['created_at'] });
  const found = all.filter((each) => each.queue?.name === queue);
  const now = context.now().getTime();
  for (const each of found) if (subscriptionEnd(each) <= now) await remove(each);
  return found.filter((each) => subscriptionEnd(each) > now);
}

const viewOfQueueSubscription = ({ id, url, queue }: SubscriptionDocument, now: number): QueueSubscription => ({
  id,
  source: queue?.name ?? '',
  subscriber: url,
  ttl: queue?.ttl ?? 0,
  age: Math.max(0, Math.floor((now - (queue?.since ?? now)) / 1000)),
  options: queue?.options ?? {},
  confirmed: queue?.confirmed ?? false,
});

interface QueueSubscriptionChange {
  readonly subscriber?: string | undefined;
  readonly ttl?: number | undefined;
  readonly options?: JsonObject | undefined;
  readonly confirmed?: boolean | undefined;
  readonly proof?: ConfirmationProof | undefined;
  /** True when another subscriber must agree too. */
  readonly mustConfirm: boolean;
}

/** The subscription after a change. A new ttl begins now. A listener that takes its agreement back gets nothing more. */
function changed(current: SubscriptionDocument, wanted: QueueSubscriptionChange, now: number): SubscriptionDocument {
  const { queue } = current;
  if (!queue) return current;
  const { subscriber = current.url, ttl, options = queue.options, confirmed = queue.confirmed } = wanted;
  const isOther = wanted.mustConfirm && subscriber !== current.url;
  const mustWait = isOther || (wanted.confirmed === false && wanted.proof !== undefined);
  const mayBegin = wanted.confirmed === true && current.status === 'unconfirmed';
  return {
    ...current,
    url: subscriber,
    queue: { ...queue, options, confirmed: confirmed && !isOther, ...(ttl !== undefined && { ttl, since: now }) },
    ...(mustWait && { status: 'unconfirmed' as const }),
    ...(mayBegin && { status: 'active' as const }),
  };
}

function checkSubscriber(
  { subscriber, options = {} }: { subscriber: string; options?: JsonObject | undefined },
  { allowPrivate }: { allowPrivate: boolean },
): SinkAddress | 'own' {
  const address = trustedPath(subscriber) === undefined ? readSinkAddress(subscriber, { allowPrivate }) : 'own';
  const [first] = mistakesInOptions(options);
  if (first !== undefined) throw new AnnealError('InvalidRequest', `Options must be a dict. ${first}`);
  return address;
}

/**
 * Whether the subscriber must agree first. The mail server of the operator never writes to strangers unasked. The own
 * gateway decides by the rights of the user who subscribed.
 */
const mustConfirm = (address: SinkAddress | 'own', settings: QueueSubscriptionOptions['settings']): boolean =>
  address !== 'own' &&
  (settings.confirm || (address.kind === 'mail' && hasForeignDomain(address.recipients, settings)));

const noSubscription = (id: string): AnnealError => new AnnealError('NotFound', `Subscription ${id} does not exist`);

const onlyListener = (id: string): AnnealError =>
  new AnnealError(
    'Forbidden',
    `Only its subscriber may confirm subscription ${id}, with the signature that it has received (ANNEAL_NOTIFICATION_CONFIRM).`,
  );
