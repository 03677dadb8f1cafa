/** Decides what an action of an alarm sends to its target. `delivery/` sends it, and decides what follows the answer. */
import { queuePost } from '@anneal/contracts/calls/queues.ts';
import { stackSignal } from '@anneal/contracts/calls/resources.ts';
import { jsonObject } from '@anneal/contracts/json.ts';
import type { Occasion } from '@anneal/contracts/origin.ts';
import { derivedId } from '@anneal/runtime/derived-id.ts';
import type { deliveryMetrics } from '@anneal/runtime/observe/service-metrics.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import { loggedAttempt, type Attempt } from '../../delivery/attempt-log.ts';
import type { OnRefusal } from '../../delivery/schedule.ts';
import { attemptOnce, type OnceOptions } from '../../delivery/send-once.ts';
import { openCallSink } from '../../sinks/call-sink.ts';
import { publicLookup } from '../../sinks/public-address.ts';
import { accepted, noSink, observedSink, refusedOrAway, type EventSink, type SinkRequest } from '../../sinks/sink.ts';
import { openWebhook } from '../../sinks/webhook.ts';
import type { AlarmDocument, PendingAction } from './alarm.ts';
import { actionTarget, shownTarget, type ActionTarget } from './target.ts';

/** Seconds. */
const queueTtl = 86_400;

/** An action as an event, which only its target receives. */
const actionEvent = { type: 'alarm.action', data: jsonObject };

/** The means to attempt actions. */
export interface ActionContext extends OnceOptions {
  readonly service: ServiceContext;
  readonly observe: ReturnType<typeof deliveryMetrics>;
  readonly timeoutMs: number;
  readonly allowPrivate: boolean;
}

/** An attempt of an action, and what is left of the action. */
export interface AttemptedAction {
  readonly attempt: Attempt;
  /** The action after the attempt; null when it is delivered or given up. */
  readonly after: PendingAction | null;
}

/** Attempts an action. Undefined when this service stopped meanwhile. */
export async function attemptAction(
  context: ActionContext,
  alarm: AlarmDocument,
  action: PendingAction,
): Promise<AttemptedAction | undefined> {
  const { sink, shown, onRefusal } = openTarget(context, alarm, action);
  const { id, body: data, attempts: tries } = action;
  const event = context.service.mint(actionEvent, { id, data, subject: shown, project: alarm.project });
  const request: SinkRequest = {
    // The same for each attempt, so that a receiver in Anneal takes the action once.
    id: derivedId(`alarm action\n${id}`),
    events: [event],
    textOf: JSON.stringify,
    isBatch: false,
    keys: [],
  };
  const attempted = await attemptOnce({ sink, request, tries, onRefusal }, context);
  if (!attempted) return undefined;
  const { ended, decision } = attempted;
  const attempt = loggedAttempt({ event, sequence: alarm.sequence, events: 1 }, ended);
  const { error } = attempt;
  if (decision.kind === 'again') {
    return { attempt, after: { ...action, attempts: tries + 1, error, due_at: ended.now + decision.inMs } };
  }
  return { attempt: { ...attempt, error: error && `${error} (given up)` }, after: null };
}

/** Opens the sink of a target. A refusal by a resource or queue of Anneal is final; one by a webhook is retried. */
function openTarget(
  context: ActionContext,
  alarm: AlarmDocument,
  action: PendingAction,
): { sink: EventSink; shown: string; onRefusal: OnRefusal } {
  const { service, allowPrivate, observe } = context;
  const { secrets, gatewayUrl } = service;
  try {
    const target = actionTarget(action.target, { secrets, gatewayUrl, allowPrivate }, alarm);
    const url = target.kind === 'http' ? target.url : target.kind;
    return {
      sink: observedSink(sinkOf(context, { alarm, action, target }), (sent) => observe({ url, ...sent })),
      shown: shownTarget(target),
      onRefusal: target.kind === 'http' ? 'block' : 'skip',
    };
  } catch (error) {
    // The operator has forbidden the address since the alarm was created.
    return { sink: noSink(refusedOrAway(error)), shown: action.target.replace(/\?.*/s, ''), onRefusal: 'skip' };
  }
}

function sinkOf(
  { service: { bus, mint, log }, timeoutMs, allowPrivate }: ActionContext,
  { alarm, action, target }: { alarm: AlarmDocument; action: PendingAction; target: ActionTarget },
): EventSink {
  const { project } = alarm;
  const { body } = action;
  const calls = { bus, mint, project, timeoutMs };
  switch (target.kind) {
    case 'signal': {
      const { stack, resource, incarnation } = target;
      const data = {
        project,
        stack,
        resource,
        signal: body,
        occasion: occasionOfAction(alarm, action),
        ...(incarnation !== undefined && { resource_id: incarnation }),
      };
      return openCallSink(calls, ({ id }, ask) => ask('scheduling', stackSignal, { id, data }));
    }
    case 'queue': {
      const messages = [{ body: { body }, ttl: queueTtl }];
      const data = { project, queue: target.queue, client_id: alarm.id, messages };
      return openCallSink(calls, ({ id }, ask) => ask('configuration', queuePost, { id, data }));
    }
    case 'log':
      return {
        ...noSink(accepted),
        send() {
          log.info({ alarm: alarm.id, body }, 'alarm notified');
          return Promise.resolve(accepted);
        },
      };
    case 'http': {
      const lookup = allowPrivate ? undefined : publicLookup;
      const render = ({ id }: SinkRequest) => ({
        contentType: 'application/json',
        body: JSON.stringify(body),
        attributes: {},
        headers: { 'x-openstack-request-id': `req-${id}` },
      });
      return openWebhook({ url: target.url, timeoutMs, lookup, connections: 1, render });
    }
  }
}

/** The alarm acts: the events that follow name it and its reason. */
function occasionOfAction({ id, resource_name: name }: AlarmDocument, { id: cause, body }: PendingAction): Occasion {
  const reason = typeof body['reason'] === 'string' ? body['reason'] : null;
  return { actor: { kind: 'alarm', id, name }, cause: { kind: 'alarm', id: cause, reason } };
}
