/** Alarms as resources: creates, updates, suspends and removes the alarm that a resource defines. */
import { safeParseExact } from '@anneal/contracts/exact-schema.ts';
import { alertNotificationSchema } from '@anneal/contracts/alertmanager.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { ResourceAction, resourceSignalSchema } from '@anneal/contracts/resource.ts';
import type { Request, Result } from '@anneal/provider/document.ts';
import { isSecret, openProperties } from '@anneal/runtime/secrets/open.ts';
import type { Admission, Admit } from '@anneal/runtime/service/project-quotas.ts';
import { grantOf, signedSignalUrl } from '@anneal/runtime/secrets/signal-grant.ts';
import { changeOrInsert } from '@anneal/store/change.ts';
import type { z } from 'zod';
import { isActive, newAlarm, viewOfAlarm, type AlarmDocument } from './alarm.ts';
import type { Alarms } from './alarms.ts';
import { definitionOf } from './rules/definition.ts';
import { actionTarget, type TargetContext } from './target.ts';

export interface AlarmResourceContext extends TargetContext {
  readonly alarms: Alarms;
  /** The stored period, in seconds. */
  readonly period: number;
  readonly now: () => Date;
  readonly admit: Admit;
}

/** Does what a request for an alarm asks for. A repeat has no second effect. @throws AnnealError InvalidRequest */
export async function provideAlarm(
  context: AlarmResourceContext,
  action: ResourceAction,
  request: Request,
): Promise<Result> {
  const { alarms } = context;
  const { resource, fence } = request.data;
  if (action === 'delete') {
    await alarms.remove(resource.id);
    return { kind: 'complete' };
  }
  if (action === 'signal') return takeAlerts(alarms, request);
  if (action === 'check') {
    if (await alarms.documents.get(resource.id)) return { kind: 'complete' };
    return { kind: 'failed', error: new AnnealError('NotFound', `Alarm ${resource.name} does not exist.`) };
  }
  const wanted = action === 'suspend' || action === 'resume' ? undefined : wantedFrom(context, request);
  const put = () =>
    changeOrInsert(alarms.documents, resource.id, (current) => {
      if (current && current.fence > fence) return undefined;
      if (wanted) return { ...(current ?? newAlarm(resource.id, context.now())), ...wanted, fence };
      return current && { ...current, suspended: action === 'suspend', fence };
    });
  const isNew = wanted !== undefined && (await alarms.documents.get(resource.id)) === undefined;
  const { project = '' } = request;
  const { document } = await (isNew ? context.admit(project, admissionOf(alarms, request), put) : put());
  if (!document) {
    return { kind: 'failed', error: new AnnealError('NotFound', `Alarm ${resource.name} does not exist.`) };
  }
  if (isActive(document)) await alarms.start(document);
  return {
    kind: 'complete',
    physical_id: document.id,
    attributes: {
      show: shownTo(context, request, document),
      ...(document.kind === 'alerts' && { alert_url: alertUrl(context, request) }),
    },
  };
}

/** The view of an alarm. It repeats most properties, so it is sealed when one of them is secret. */
function shownTo({ secrets }: AlarmResourceContext, { data }: Request, document: AlarmDocument): Json {
  const view = viewOfAlarm(document) as unknown as Json;
  return isSecret(secrets, data.properties as JsonObject) ? secrets.seal(view) : view;
}

/** The holder of the address may notify the alarm, so it is a secret. */
const alertUrl = ({ secrets, gatewayUrl }: AlarmResourceContext, request: Request) =>
  secrets.seal(signedSignalUrl(gatewayUrl, { secrets, grant: grantOf(request), as: 'signal' }));

/** Takes a notification of Alertmanager, once per message. */
async function takeAlerts(alarms: Alarms, request: Request): Promise<Result> {
  const { resource, signal, origin } = request.data as z.infer<typeof resourceSignalSchema>;
  const alarm = await alarms.documents.get(resource.id);
  if (!alarm) {
    return { kind: 'failed', error: new AnnealError('NotFound', `Alarm ${resource.name} does not exist.`) };
  }
  const { data: notification, error } = safeParseExact(alertNotificationSchema, signal);
  if (error) throw error;
  const occasion = origin && { actor: origin.actor, cause: origin.cause };
  await alarms.receive(alarm, notification, { id: request.id, sentAt: Date.parse(request.time), occasion });
  return { kind: 'complete' };
}

const admissionOf = ({ documents }: Alarms, { data, project = '' }: Request): Admission => ({
  wanted: 1,
  count: () => documents.count({ project }),
  refusal: ({ there, limit: { most, setting } }) =>
    new AnnealError(
      'QuotaExceeded',
      `Cannot create the alarm ${data.resource.name}: the project has ${there} alarms and the limit is ${most} (${setting}).`,
    ),
});

/** The parts of an alarm that its resource defines. @throws AnnealError InvalidRequest */
function wantedFrom(context: AlarmResourceContext, { data, project = '' }: Request) {
  const { secrets, period } = context;
  const { resource, stack, origin } = data;
  const names = [resource.id, resource.physical_name];
  const definition = definitionOf(resource.type, openProperties(secrets, data.properties), { period, self: names });
  const place = { project, stack_id: stack.id };
  for (const target of [...Object.values(definition.actions).flat(), ...definition.values]) {
    actionTarget(target, context, place);
  }
  return {
    ...place,
    name: resource.physical_name,
    type: resource.type,
    kind: definition.rule.kind,
    stack_name: stack.name,
    resource_name: resource.name,
    definition,
    ...(origin && { place: { root: origin.root, path: origin.path, tags: origin.tags } }),
  };
}
