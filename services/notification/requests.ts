/** Answers the questions of clients about subscriptions, deliveries and the log of events. */
import { answer, type MessageRoute } from '@anneal/bus/consume/route.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { subscriptionEvent } from '@anneal/contracts/events.ts';
import { attemptList, deliveryList, deliveryReplay } from '@anneal/contracts/calls/deliveries.ts';
import { eventLog } from '@anneal/contracts/calls/event-log.ts';
import {
  subscriptionAct,
  subscriptionConfirm,
  subscriptionCreate,
  subscriptionDelete,
  subscriptionList,
  subscriptionOverview,
  subscriptionReplay,
  subscriptionRotate,
  subscriptionShow,
  subscriptionTest,
} from '@anneal/contracts/calls/subscriptions.ts';
import { openText } from '@anneal/runtime/secrets/secrets.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { SettingsOf } from '@anneal/runtime/service/settings.ts';
import { change } from '@anneal/store/change.ts';
import type { z } from 'zod';
import { latestAttempts } from './delivery/attempt-log.ts';
import {
  deliveryId,
  deliveryView,
  eventOfDelivery,
  newDelivery,
  viewOfAttempt,
  viewOfWaiting,
  type Deliveries,
} from './delivery/deliveries.ts';
import type { Dispatch } from './subscriptions/dispatch.ts';
import type { EventDocument } from './events/event-log.ts';
import { askListener, confirmSubscription, hasForeignDomain } from './subscriptions/confirmation.ts';
import { checkPatterns } from './events/event-filter.ts';
import { queueSubscriptionRoutes } from './subscriptions/queue-subscriptions.ts';
import { storedTypes } from './events/event-types.ts';
import type { NotificationQuotas } from './quotas.ts';
import type { notificationSettings } from './settings.ts';
import { noMailServer } from './delivery/open-sink.ts';
import { readSinkAddress, shownAddress, type SinkAddress } from './sinks/sink-address.ts';
import { removeSubscription } from './subscriptions/remove-subscription.ts';
import {
  createSubscription,
  deadLetterId,
  enabled,
  eventsProjectOf,
  secretFrom,
  viewOf,
  type SubscriptionDocument,
  type Subscriptions,
} from './documents/subscription.ts';
import { stuckOf } from './documents/stuck.ts';

const latestShown = 100;
const mostCounted = 1000;
/** The most events of the log that are listed as waiting, beginning with the next one to send. */
const nextShown = 20;
/** A burst of events makes one mail. */
const mailWindowSeconds = 60;
const mostReplayed = 10_000;

type Question<C extends { data: z.ZodType }> = z.infer<C['data']>;
type AnswerOf<C extends { answer: z.ZodType }> = z.infer<C['answer']>;

interface RequestsOptions {
  readonly context: ServiceContext;
  readonly settings: SettingsOf<typeof notificationSettings>;
  readonly quotas: NotificationQuotas;
  readonly subscriptions: Subscriptions;
  readonly deliveries: Deliveries;
  readonly dispatch: Dispatch;
}

export class SubscriptionRequests {
  readonly #options: RequestsOptions;

  constructor(options: RequestsOptions) {
    this.#options = options;
  }

  routes(): MessageRoute[] {
    const { context } = this.#options;
    return [
      answer(context, subscriptionCreate, ({ data }) => this.#createSubscription(data)),
      answer(context, subscriptionList, ({ data }) => this.#list(data)),
      answer(context, subscriptionOverview, ({ data }) => this.#overview(data)),
      answer(context, subscriptionShow, async ({ data }) => this.#view(await this.#find(data.project, data.id))),
      answer(context, subscriptionDelete, ({ data }) => this.#remove(data)),
      answer(context, subscriptionAct, ({ data }) => this.#act(data)),
      answer(context, subscriptionTest, ({ data }) => this.#test(data)),
      answer(context, subscriptionConfirm, ({ data }) => this.#confirm(data)),
      answer(context, subscriptionRotate, ({ data }) => this.#rotate(data)),
      answer(context, attemptList, ({ data }) => this.#attempts(data)),
      answer(context, subscriptionReplay, ({ data }) => this.#replayRange(data)),
      answer(context, deliveryList, ({ data }) => this.#deliveries(data)),
      answer(context, deliveryReplay, ({ data }) => this.#replay(data)),
      ...queueSubscriptionRoutes({
        ...this.#options,
        remove: (found) => removeSubscription(this.#options, found),
      }),
      answer(context, eventLog, ({ data }) => this.#events(data)),
    ];
  }

  async #createSubscription({
    after,
    ...given
  }: Question<typeof subscriptionCreate>): Promise<AnswerOf<typeof subscriptionCreate>> {
    const { context, dispatch, quotas, settings, subscriptions } = this.#options;
    const { events } = dispatch;
    const { allowPrivate } = settings;
    const credentials = given.credentials && openText(context.secrets, given.credentials);
    const address = readSinkAddress(given.url, { allowPrivate, credentials });
    const wanted = address.kind === 'mail' ? asMail(given, settings) : given;
    checkForm(wanted);
    const mustConfirm = this.#mustConfirm(wanted, address);
    if (wanted.dead_letter !== undefined) checkDeadLetter(wanted.dead_letter, settings);
    const start = after === undefined ? undefined : await events.startOf({ after });
    const gap =
      after !== undefined && start?.hasGap === true && (await events.gapBehind(after, eventsProjectOf(wanted)));
    const { document, secret } = await createSubscription({
      subscriptions,
      secrets: context.secrets,
      wanted: { ...wanted, confirm: mustConfirm },
      cursor: start?.number ?? (await events.last()),
      admit: quotas.admissionsTo('subscriptions'),
      now: context.now(),
    });
    const deadLetter = await this.#createDeadLetter(document, secret);
    if (document.status === 'unconfirmed') await askListener(this.#options, document, settings);
    await dispatch.wake([document, ...deadLetter]);
    const { id, project } = document;
    return { subscription: await this.#view(await this.#find(project, id)), secret, ...(gap && { gap }) };
  }

  /** @throws AnnealError InvalidRequest when something else than a webhook or a recipient of mail should confirm */
  #mustConfirm({ url, confirm }: Question<typeof subscriptionCreate>, address: SinkAddress): boolean {
    const { settings } = this.#options;
    if (address.kind === 'mail') {
      return confirm === true || hasForeignDomain(address.recipients, settings);
    }
    const isWebhook = address.kind === 'webhook';
    if (confirm === true && !isWebhook) {
      throw new AnnealError(
        'InvalidRequest',
        `Cannot ask ${shownAddress(url)} for a confirmation: it is neither a webhook nor mail.`,
      );
    }
    return isWebhook && (confirm ?? settings.confirm);
  }

  /** Makes the subscription that delivers what the listener of this one refused. A repeat makes the same one. */
  async #createDeadLetter(parent: SubscriptionDocument, secret: string): Promise<SubscriptionDocument[]> {
    if (parent.dead_letter === undefined) return [];
    const { context, quotas, subscriptions } = this.#options;
    const { document } = await createSubscription({
      subscriptions,
      secrets: context.secrets,
      wanted: {
        id: deadLetterId(parent.id),
        project: parent.project,
        name: `${parent.name} dead letters`.trim().slice(0, 255),
        url: parent.dead_letter,
        types: [subscriptionEvent.dead.type],
        subject_prefix: parent.id,
        secret,
      },
      cursor: parent.cursor,
      admit: quotas.admissionsTo('subscriptions'),
      // It shares the place of its parent.
      places: 0,
      now: context.now(),
    });
    return [document];
  }

  /** Sends a test event. A webhook that has not agreed to receive events is asked first. */
  async #test({ project, id }: Question<typeof subscriptionTest>): Promise<AnswerOf<typeof subscriptionTest>> {
    const { context, dispatch, settings } = this.#options;
    const found = await this.#find(project, id);
    const began = performance.now();
    const took = (): number => Math.round(performance.now() - began);
    if (found.status === 'unconfirmed') {
      const { isAllowed, status, error } = await askListener(this.#options, found, settings);
      await dispatch.wake([found]);
      const subscription = await this.#view(await this.#find(project, id));
      if (!isAllowed) return { status, error, ms: took(), subscription };
    }
    const { name, version } = found;
    const event = context.mint(subscriptionEvent.tested, {
      data: { subscription_id: id, subscription_name: name, version },
      subject: id,
      project,
    });
    const { status, error } = await dispatch.test(found, event);
    return { status, error, ms: took(), subscription: await this.#view(await this.#find(project, id)) };
  }

  async #confirm(question: Question<typeof subscriptionConfirm>): Promise<AnswerOf<typeof subscriptionConfirm>> {
    const confirmed = await confirmSubscription(this.#options, question);
    await this.#options.dispatch.wake([confirmed]);
    return { project: confirmed.project };
  }

  async #list({ project }: Question<typeof subscriptionList>): Promise<AnswerOf<typeof subscriptionList>> {
    const found = await this.#options.subscriptions.find({ where: { project }, orderBy: ['created_at'] });
    return { subscriptions: await Promise.all(found.map((each) => this.#view(each))) };
  }

  async #overview({
    project,
    since,
    most,
  }: Question<typeof subscriptionOverview>): Promise<AnswerOf<typeof subscriptionOverview>> {
    const stuck = stuckOf(await this.#options.subscriptions.find({ where: { project } }), since);
    return { stuck: stuck.slice(0, most), stuck_count: stuck.length };
  }

  async #remove({ project, id }: Question<typeof subscriptionDelete>): Promise<AnswerOf<typeof subscriptionDelete>> {
    await removeSubscription(this.#options, await this.#find(project, id));
    return {};
  }

  /** Pauses, resumes, or attempts all that waits now. A repeat changes nothing more. */
  async #act({ project, id, verb }: Question<typeof subscriptionAct>): Promise<AnswerOf<typeof subscriptionAct>> {
    const { dispatch, subscriptions } = this.#options;
    const found = await this.#find(project, id);
    if (verb === 'retry' && found.status !== 'active' && found.status !== 'unconfirmed') {
      throw new AnnealError(
        'Conflict',
        `Cannot retry the deliveries of subscription ${id}: it is ${found.status}. Resume it.`,
      );
    }
    if (found.status === 'unconfirmed') {
      throw new AnnealError(
        'Conflict',
        `Cannot ${verb} subscription ${id}: its listener has not confirmed it. Ask the listener again with \`anneal subscription test ${id}\`.`,
      );
    }
    const { document = found } = await change(subscriptions, found, (current) => {
      if (verb === 'pause') return current.status === 'active' ? { ...current, status: 'paused' as const } : undefined;
      if (verb === 'resume') return current.status === 'active' ? undefined : enabled(current);
      return { ...current, retry_requested: true };
    });
    await dispatch.wake([document]);
    return this.#view(document);
  }

  /** Replaces the secret. Requests have a signature with each of the two until the previous one expires. */
  async #rotate({
    project,
    id,
    secret: given,
    keep_seconds: keepSeconds,
  }: Question<typeof subscriptionRotate>): Promise<AnswerOf<typeof subscriptionRotate>> {
    const { context, dispatch, subscriptions } = this.#options;
    const found = await this.#find(project, id);
    const secret = secretFrom(given === undefined ? undefined : openText(context.secrets, given));
    const until = context.now().getTime() + keepSeconds * 1000;
    const rotated = (current: SubscriptionDocument): SubscriptionDocument => ({
      ...current,
      secret: context.secrets.seal(secret),
      previous_secret: { secret: current.secret, until },
    });
    const { document = found } = await change(subscriptions, found, rotated);
    const { document: deadLetter } = await change(subscriptions, deadLetterId(id), rotated);
    await dispatch.wake([document, ...(deadLetter ? [deadLetter] : [])]);
    return { subscription: await this.#view(document), secret };
  }

  /** Makes deliveries of the events of a range. A repeat makes the same ones. */
  async #replayRange({
    project,
    id,
    from,
    to,
  }: Question<typeof subscriptionReplay>): Promise<AnswerOf<typeof subscriptionReplay>> {
    const { context, deliveries, dispatch } = this.#options;
    const { events } = dispatch;
    const subscription = await this.#find(project, id);
    const of = eventsProjectOf(subscription);
    const after = await events.edge(from, { project: of, side: 'from' });
    const last = to === undefined ? await events.last() : await events.edge(to, { project: of, side: 'to' });
    const page = await events.read({ project: of, after, filter: subscription, limit: mostReplayed + 1 });
    const found = page.events.filter(({ sequence }) => sequence <= last);
    if (found.length > mostReplayed) {
      throw new AnnealError(
        'LimitReached',
        `Cannot replay more than ${mostReplayed} events at once: choose a smaller range.`,
      );
    }
    const now = context.now().getTime();
    // Events above the cursor are sent anyway.
    const wanted = found.filter(({ sequence }) => sequence <= subscription.cursor);
    await deliveries.bulk(wanted.map((each) => ({ kind: 'put', document: newDelivery(id, each, now) })));
    await dispatch.wake([subscription]);
    return { events: wanted.length };
  }

  async #attempts({ project, id, limit }: Question<typeof attemptList>): Promise<AnswerOf<typeof attemptList>> {
    await this.#find(project, id);
    return { attempts: await latestAttempts(this.#options.dispatch.attempts, id, limit) };
  }

  async #deliveries({ project, subscription }: Question<typeof deliveryList>): Promise<AnswerOf<typeof deliveryList>> {
    const found = await this.#find(project, subscription);
    const { deliveries, dispatch } = this.#options;
    const [stored, attempts, unsent] = await Promise.all([
      deliveries.find({
        where: { subscription_id: subscription },
        orderBy: ['sequence'],
        descending: true,
        limit: latestShown,
      }),
      latestAttempts(dispatch.attempts, subscription, latestShown),
      this.#waiting(found, nextShown),
    ]);
    const views = new Map(stored.map((each) => [each.id, { sequence: each.sequence, view: deliveryView(each) }]));
    for (const each of attempts) {
      const view = viewOfAttempt(subscription, each);
      if (view.status === 'delivered' && !views.has(view.id)) views.set(view.id, { sequence: each.sequence, view });
    }
    const latest = [...views.values()].toSorted((a, b) => b.sequence - a.sequence).slice(0, latestShown);
    const next = unsent.filter(({ event }) => !views.has(deliveryId(subscription, event.id)));
    const waiting = next.toReversed().map(({ event }) => viewOfWaiting(found, event, attempts));
    return { deliveries: [...waiting, ...latest.map(({ view }) => view)] };
  }

  async #replay({
    project,
    subscription: id,
    delivery,
  }: Question<typeof deliveryReplay>): Promise<AnswerOf<typeof deliveryReplay>> {
    const { context, deliveries, dispatch, subscriptions } = this.#options;
    const subscription = await this.#find(project, id);
    const now = context.now().getTime();
    const found = await deliveries.get(delivery);
    const event = found
      ? undefined
      : await dispatch.events.get(eventOfDelivery(id, delivery), eventsProjectOf(subscription));
    if (found ? found.subscription_id !== id : !event) {
      throw new AnnealError('NotFound', `There is no delivery ${delivery} of subscription ${id}.`);
    }
    const draft = found
      ? { ...found, status: 'pending' as const, tries: 0, due_at: now, failure: null }
      : newDelivery(id, event as NonNullable<typeof event>, now);
    await deliveries.bulk([{ kind: 'put', document: draft }]);
    const { document } = await change(subscriptions, subscription, (current) =>
      current.status === 'disabled' ? enabled(current) : undefined,
    );
    await dispatch.wake([document ?? subscription]);
    return deliveryView({ ...draft, version: 1 });
  }

  async #events({
    project,
    after,
    before,
    position,
    types,
    subject_prefix,
    filters,
    limit,
  }: Question<typeof eventLog>): Promise<AnswerOf<typeof eventLog>> {
    const { events } = this.#options.dispatch;
    checkPatterns(types, storedTypes());
    const filter = { types, subject_prefix, filters };
    if (after === undefined) {
      const newest = await events.newest({ project, filter, limit, before });
      return { events: newest.map(({ event }) => event) };
    }
    const start = await events.startOf({ after, position });
    const page = await events.read({ project, after: start.number, filter, limit });
    return {
      events: page.events.map(({ event }) => event),
      ...(page.upTo && { cursor: page.upTo.id }),
      position: page.position,
      ...(start.hasGap && { gap: await events.gapBehind(after, project) }),
    };
  }

  async #find(project: string, id: string): Promise<SubscriptionDocument> {
    const found = await this.#options.subscriptions.get(id);
    if (found?.project === project) return found;
    throw new AnnealError('NotFound', `There is no subscription ${id} in this project.`);
  }

  /** Events of the log that are neither delivered nor stored as deliveries, the oldest first. */
  async #waiting(subscription: SubscriptionDocument, limit: number): Promise<EventDocument[]> {
    const { cursor, ahead = [] } = subscription;
    const project = eventsProjectOf(subscription);
    const page = await this.#options.dispatch.events.read({
      project,
      after: cursor,
      filter: subscription,
      limit: limit + ahead.length,
    });
    const settled = new Set(ahead);
    return page.events.filter(({ sequence }) => !settled.has(sequence)).slice(0, limit);
  }

  async #view(subscription: SubscriptionDocument): Promise<ReturnType<typeof viewOf>> {
    const [pending, waiting] = await Promise.all([
      this.#options.deliveries.count({ subscription_id: subscription.id, status: 'pending' }),
      this.#waiting(subscription, mostCounted),
    ]);
    return viewOf(subscription, pending + waiting.length);
  }
}

/**
 * A subscription by mail: a person gets a digest, unless the subscriber asks for something else.
 * @throws AnnealError NotSupported without an SMTP server
 */
function asMail<Q extends Pick<Question<typeof subscriptionCreate>, 'condense' | 'window_seconds' | 'batch_size'>>(
  wanted: Q,
  settings: SettingsOf<typeof notificationSettings>,
): Q {
  if (settings.smtpUrl === undefined) throw noMailServer();
  const { condense = 'digest', window_seconds = mailWindowSeconds } = wanted;
  return { ...wanted, condense, window_seconds };
}

/** @throws AnnealError InvalidRequest for a form of the messages that the listener could not read; names every mistake */
function checkForm({
  mode,
  format = 'cloudevents',
  batch_size: batchSize = 1,
  condense,
  window_seconds: seconds,
}: Question<typeof subscriptionCreate>): void {
  const mistakes: string[] = [];
  if (mode === 'binary' && (batchSize > 1 || format !== 'cloudevents')) {
    mistakes.push(
      'the mode binary has one CloudEvent in each message: it allows no batch_size above 1, and no other format',
    );
  }
  if (condense === 'digest' && (batchSize > 1 || format !== 'cloudevents')) {
    mistakes.push('a digest is one CloudEvent: it allows no batch_size above 1, and no other format');
  }
  if (seconds !== undefined && condense === undefined) {
    mistakes.push('window_seconds needs condense: latest or digest');
  }
  if (mistakes.length > 0)
    throw new AnnealError('InvalidRequest', `Cannot create the subscription: ${mistakes.join('; ')}.`);
}

/** @throws AnnealError InvalidRequest for a dead-letter sink that is neither a webhook nor a queue */
function checkDeadLetter(url: string, { allowPrivate }: { allowPrivate: boolean }): void {
  const { kind } = readSinkAddress(url, { allowPrivate });
  if (kind === 'webhook' || kind === 'queue') return;
  throw new AnnealError(
    'InvalidRequest',
    `Cannot send dead letters to ${shownAddress(url)}: name a webhook or a queue.`,
  );
}
