/** Converts what a stored event says about a group to the messages for subscribers. */
import type { Envelope, Mint } from '@anneal/contracts/envelope.ts';
import { groupEvent, memberEvent, type GroupEventData } from '@anneal/contracts/group-events.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { Origin } from '@anneal/contracts/origin.ts';
import type { StackDocument } from '@anneal/convergence/documents.ts';
import { hookUrl } from '@anneal/runtime/secrets/hook-grant.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { StoredEvent } from './event-runs.ts';

export interface GroupFormTools {
  readonly mint: Mint;
  readonly secrets: Secrets;
  readonly gatewayUrl: string;
  /** The stack of the record. */
  readonly stack: StackDocument;
}

interface About {
  readonly project: string;
  readonly cause: Envelope;
  readonly origin: Origin;
}

type MemberStage = keyof typeof memberEvent;
const reports = {
  refused: groupEvent.refused,
  deciding: groupEvent.deciding,
  'refresh.started': groupEvent.refreshStarted,
  'refresh.waiting': groupEvent.refreshWaiting,
  'refresh.completed': groupEvent.refreshCompleted,
  'refresh.failed': groupEvent.refreshFailed,
  'refresh.cancelled': groupEvent.refreshCancelled,
} as const;

/** The messages follow that of the event itself. Each id is derived from the id of the event. */
export function groupForm(form: GroupFormTools, event: StoredEvent, { project, cause, origin }: About): Envelope[] {
  const { mint, stack } = form;
  const { parent } = stack;
  if (!parent || (!event.scaling && !event.group && !event.member)) return [];
  const common: GroupEventData = {
    origin,
    stack_id: event.stack_id,
    stack_name: event.stack_name,
    group: parent.resource_name,
    parent_stack_id: parent.stack_id,
    version: event.object_version,
  };
  const envelope = (name: string) => ({ project, cause, id: `${event.id}:${name}`, subject: event.stack_id });
  const scalings = (event.scaling ?? []).map((report, index) => {
    const { stage, follows: _, ...data } = report;
    const whole = { ...common, ...data, entering: [...data.entering], leaving: [...data.leaving] };
    const at = envelope(`${stage}${index}`);
    if (stage !== 'failed') return mint(groupEvent[stage], { ...at, data: whole });
    const { failure = { code: 'ResourceFailed', message: event.reason } } = data;
    return mint(groupEvent.failed, { ...at, data: { ...whole, failure } });
  });
  return [...scalings, ...noted(form, event, { common, envelope }), ...member(form, event, { common, envelope })];
}

interface Parts {
  readonly common: GroupEventData;
  readonly envelope: (name: string) => { project: string; cause: Envelope; id: string; subject: string };
}

function noted({ mint, secrets, gatewayUrl, stack }: GroupFormTools, { group, reason }: StoredEvent, parts: Parts) {
  if (!group || !Object.hasOwn(reports, group.stage)) return [];
  const stage = group.stage as keyof typeof reports;
  const { parent } = stack;
  const token = group.data['token'];
  const extra: JsonObject =
    stage === 'deciding' && typeof token === 'string' && parent
      ? {
          url: hookUrl(gatewayUrl, {
            secrets,
            grant: {
              project: stack.project,
              stack_id: parent.stack_id,
              resource_name: parent.resource_name,
              hook: 'deciding',
              token,
            },
          }),
        }
      : stage.startsWith('refresh.')
        ? { reason }
        : {};
  const data = { ...parts.common, ...group.data, ...extra };
  return [mint(reports[stage] as never, { ...parts.envelope(stage), data: data as never })];
}

function member({ mint }: GroupFormTools, event: StoredEvent, { common, envelope }: Parts): Envelope[] {
  if (!event.member || event.resource_id === undefined) return [];
  const { stage, ...facts } = event.member;
  if (typeof stage !== 'string') return [];
  const data = {
    ...common,
    member: event.resource_name,
    resource_id: event.resource_id,
    physical_id: event.physical_id,
    type: event.resource_type,
    ...facts,
  };
  return [mint(memberEvent[stage as MemberStage], { ...envelope(stage), data: data as never })];
}
