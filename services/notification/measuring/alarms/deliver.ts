/** Delivers one action of an alarm. */
import { queuePost } from '@anneal/contracts/calls/configuration.ts';
import { stackSignal } from '@anneal/contracts/calls/scheduling.ts';
import type { Occasion } from '@anneal/contracts/origin.ts';
import { AnnealError, kindOf } from '@anneal/contracts/errors.ts';
import { derivedId } from '@anneal/runtime/derived-id.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { ServiceQuestion } from '../../service-questions.ts';
import type { AlarmDocument, PendingAction } from './alarm.ts';
import type { ActionPoster } from './poster.ts';
import { actionTarget } from './target.ts';

const queueTtl = 86_400;

export interface DeliverContext {
  readonly service: ServiceContext;
  readonly ask: ServiceQuestion;
  readonly poster: ActionPoster;
  readonly allowPrivate: boolean;
}

/** `final`: a retry cannot help. */
export type DeliveredAction =
  | { readonly ok: true }
  | { readonly ok: false; readonly error: string; readonly final: boolean };

/** Never throws. A repeat of the same action has the same id, by which resources of Anneal take it once. */
export async function deliverAction(
  context: DeliverContext,
  alarm: AlarmDocument,
  action: PendingAction,
): Promise<DeliveredAction> {
  try {
    return await attempt(context, alarm, action);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { ok: false, error: message.slice(0, 500), final: kindOf(error) !== 'retry' };
  }
}

async function attempt(
  { service, ask, poster, allowPrivate }: DeliverContext,
  alarm: AlarmDocument,
  action: PendingAction,
): Promise<DeliveredAction> {
  const { id, target: text, body } = action;
  const { project } = alarm;
  const { secrets, gatewayUrl, log } = service;
  const target = actionTarget(text, { secrets, gatewayUrl, allowPrivate }, alarm);
  const message = derivedId(`alarm action\n${id}`);
  switch (target.kind) {
    case 'signal': {
      const { stack, resource, incarnation } = target;
      const data = {
        project,
        stack,
        resource,
        signal: body,
        occasion: occasionOfAlarm(alarm, action),
        ...(incarnation !== undefined && { resource_id: incarnation }),
      };
      await ask('scheduling', stackSignal, { project, data, id: message });
      return { ok: true };
    }
    case 'queue': {
      const messages = [{ body: { body }, ttl: queueTtl }];
      const data = { project, queue: target.queue, client_id: alarm.id, messages };
      await ask('configuration', queuePost, { project, data, id: message });
      return { ok: true };
    }
    case 'log':
      log.info({ alarm: alarm.id, body }, 'alarm notified');
      return { ok: true };
    case 'http': {
      const error = await poster.post(target.url, { id: message, body: JSON.stringify(body) });
      if (error !== null) throw new AnnealError('Unavailable', error);
      return { ok: true };
    }
  }
}

/** The alarm acts: the events that follow name it and its reason. */
function occasionOfAlarm(alarm: AlarmDocument, { id: cause, body }: PendingAction): Occasion {
  const reason = typeof body['reason'] === 'string' ? body['reason'] : null;
  return {
    actor: { kind: 'alarm', id: alarm.id, name: alarm.resource_name },
    cause: { kind: 'alarm', id: cause, reason },
  };
}
