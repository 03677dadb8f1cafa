/** Converts messages of a shard's queue to inputs of the core. */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { resourceResponse, type ResourceRequest } from '@anneal/contracts/resource.ts';
import { groupAct, groupAdjust, groupLost } from '@anneal/contracts/calls/scaling.ts';
import { resourceAct, stackSignal } from '@anneal/contracts/calls/resources.ts';
import {
  stackAct,
  stackCreate,
  stackDelete,
  stackUpdate,
  timerFired,
  type StackAct,
} from '@anneal/contracts/calls/stacks.ts';
import { executionAct, executionStart } from '@anneal/contracts/calls/workflow.ts';
import { isObject } from '@anneal/contracts/json.ts';
import { systemOccasion, type Occasion } from '@anneal/contracts/origin.ts';
import { representative, servedType } from '@anneal/convergence/documents.ts';
import type { DelegatedQuestion, Input } from '@anneal/convergence/protocol.ts';
import type { State } from '@anneal/convergence/state.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { z } from 'zod';
import type { GroupIntake } from '../nested/adjust.ts';
import { isGroupMessage } from '../nested/group-message.ts';
import { isPolicy } from '../groups/policy.ts';
import { isNestedRequest, type NestedIntake } from '../nested/intake.ts';
import type { Died } from './death.ts';
import type { Held } from '../limiter/limiter.ts';
import type { Plans } from '../plans/plans.ts';
import { dueOf } from '../documents/stack-timers.ts';
import { planHash } from '../nested/preview.ts';
import type { ProviderDirectory } from '../providers.ts';
import { storableResponse } from './storable-response.ts';
import { targetOf } from '../plans/target.ts';
import { findSnapshot, refuseTooMany } from '../snapshots.ts';
import type { Snapshots } from '../documents/snapshots.ts';

export type Arrival =
  | { readonly kind: 'message'; readonly message: Envelope }
  | { readonly kind: 'recover' }
  /** A message that the stack waits for became a dead letter. */
  | { readonly kind: 'died'; readonly died: Died }
  /** The gate admits requests that it held back; the stack may send them now. */
  | { readonly kind: 'turn'; readonly requests: readonly Held[] };

type Update = z.infer<typeof stackUpdate.data>;
type Signal = z.infer<typeof stackSignal.data>;
type Fired = z.infer<typeof timerFired.data>;

/** The id of the stack that a message is for; undefined for a type that a shard does not accept. */
export function arrivalStackId(message: Envelope): string | undefined {
  const data = message.data as { id?: string; stack?: string; stack_id?: string };
  switch (message.type) {
    case stackCreate.type:
    case stackUpdate.type:
    case stackDelete.type:
      return data.id;
    case stackSignal.type:
    case stackAct.type:
    case resourceAct.type:
    case groupAct.type:
      return data.stack;
    case resourceResponse.type:
    case timerFired.type:
    case groupAdjust.type:
    case groupLost.type:
      return data.stack_id;
    case executionStart.type:
    case executionAct.type:
      return data.id;
    default:
      // A nested stack has the id of its resource in the stack around it.
      return isNestedRequest(message) ? (message.data as ResourceRequest).resource.id : undefined;
  }
}

export interface ToInput {
  readonly message: Envelope;
  readonly state: State;
  readonly plans: Plans;
  readonly snapshots: Snapshots;
  readonly intake: NestedIntake;
  readonly adjust: GroupIntake;
  readonly now: number;
  readonly providers: Pick<ProviderDirectory, 'isForeign'>;
  readonly secrets: Secrets;
}

/** The input that a message means; undefined for none. */
export async function toInput(parameters: ToInput): Promise<Input | undefined> {
  const { message } = parameters;
  const input = await inputWithin(parameters);
  if (!input || input.occasion || !asks.has(message.type)) return input;
  return { ...input, occasion: occasionOf(message) };
}

const asks: ReadonlySet<string> = new Set(
  [stackCreate, stackUpdate, stackDelete, stackSignal, stackAct, resourceAct].map(({ type }) => type),
);

/** A sender of an older version does not say who asks. */
const occasionOf = ({ data, correlationid }: Envelope): Occasion =>
  (data as { occasion?: Occasion }).occasion ?? systemOccasion('request', { id: correlationid });

async function inputWithin(parameters: ToInput): Promise<Input | undefined> {
  const { message, state, plans } = parameters;
  const { id } = message;
  if (isGroupMessage(message)) return parameters.adjust(message, state);
  switch (message.type) {
    case stackCreate.type:
      return { kind: 'create', id, plan: state.plan };
    case stackUpdate.type: {
      const data = message.data as Update;
      if (!state.stack.recent.includes(id)) refuseMoved(data, state);
      return {
        kind: 'update',
        id,
        plan: await plans.get(data.plan),
        target: targetOf(data, id),
        timeout_minutes: data.timeout_minutes,
        on_failure: data.on_failure,
        tags: data.tags,
        observe: data.converge,
      };
    }
    case stackDelete.type:
      return { kind: 'delete', id };
    case stackSignal.type: {
      const { resource, resource_id: incarnation, signal } = message.data as Signal;
      const asked = isAnsweredByGroup(message, state) ? askedBy(message) : undefined;
      return { kind: 'signal', id, resource, incarnation, signal, asked };
    }
    case stackAct.type:
      return toAction(parameters, (message.data as z.infer<typeof stackAct.data>).action);
    case resourceAct.type: {
      const { resource, action } = message.data as z.infer<typeof resourceAct.data>;
      return { kind: 'resource', id, resource, action };
    }
    case resourceResponse.type:
      return { kind: 'response', id, response: storableResponse(parameters) };
    case timerFired.type:
      return timerInput(message);
    default:
      return parameters.intake.toInput(message, state);
  }
}

/** The group and the routing take their timers before. */
function timerInput({ id, data }: Envelope): Input | undefined {
  const fired = data as Fired;
  const timer = dueOf(fired);
  switch (timer.kind) {
    case 'deadline':
    case 'grace':
    case 'batch':
    case 'retry':
    case 'hook':
      return { kind: 'timer', id, timer, traversal: fired.traversal };
    case 'route':
    case 'group':
    case 'task wait':
    case 'task timeout':
      return undefined;
  }
}

/** Whether the group of a scaling policy answers the signal, because only the group knows what follows from it. */
export function isAnsweredByGroup(message: Envelope, { byName, resources }: State): boolean {
  if (message.type !== stackSignal.type) return false;
  const { resource, signal } = message.data as Signal;
  if (isObject(signal) && 'unset_hook' in signal) return false;
  const found = representative([...(byName.get(resource) ?? [])].flatMap((id) => resources.get(id) ?? []));
  return found !== undefined && isPolicy(servedType(found));
}

const askedBy = ({ id, replyto }: Envelope): DelegatedQuestion | undefined =>
  replyto === undefined ? undefined : { id, replyto };

/** Refuses an update whose plan was made for another state of the stack. A repeat of the same update is not refused. */
function refuseMoved({ plan_hash: hash, ...data }: Update, { stack }: State): void {
  if (hash === undefined || hash === planHash(stack, data)) return;
  const message = `Cannot apply plan ${hash}: it was made for another state of stack ${stack.name} or for another template. Plan again.`;
  throw new AnnealError('Conflict', message);
}

async function toAction({ message, state, plans, snapshots }: ToInput, action: StackAct): Promise<Input> {
  const { id } = message;
  switch (action.kind) {
    case 'check':
    case 'suspend':
    case 'resume':
      return { kind: 'visit', id, action: visits[action.kind] };
    case 'snapshot':
      await refuseTooMany(snapshots, state.stack.id);
      return { kind: 'visit', id, action: 'SNAPSHOT', snapshot: { id: action.id, name: action.name } };
    case 'restore': {
      const { status, target } = await findSnapshot(snapshots, state.stack.id, action.snapshot);
      if (status !== 'COMPLETE') {
        throw new AnnealError(
          'InvalidRequest',
          `Snapshot ${action.snapshot} is ${status}; only a complete one can be restored.`,
        );
      }
      return { kind: 'update', id, as: 'RESTORE', plan: await plans.get(target.plan), target: targetOf(target, id) };
    }
    case 'cancel':
      return action.rollback ? { kind: 'rollback', id, cancel: true } : { kind: 'cancel', id };
    case 'rollback':
      return { kind: 'rollback', id, cancel: false };
    case 'retry':
      return { kind: 'retry', id };
    case 'abandon':
      return { kind: 'delete', id, abandon: true };
  }
}

const visits = { check: 'CHECK', suspend: 'SUSPEND', resume: 'RESUME' } as const;
