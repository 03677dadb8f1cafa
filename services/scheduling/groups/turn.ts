/** One request of a group, and the change that follows from it. */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { Occasion } from '@anneal/contracts/origin.ts';
import type { GroupReport, Input } from '@anneal/convergence/protocol.ts';
import type { State } from '@anneal/convergence/state.ts';
import type { StoredNestedRequest } from './kept.ts';
import type { Group } from './decision.ts';
import type { ScalingState } from './scaling-state.ts';

type GroupInput = Extract<Input, { kind: 'group' }>;

/** One request, with the group that it is about. */
export interface GroupTurn {
  readonly id: string;
  readonly cause: Envelope;
  /** The actor and the cause, for the events. */
  readonly occasion: Occasion;
  readonly state: State;
  readonly kept: StoredNestedRequest;
  readonly properties: JsonObject;
  readonly group: Group;
  readonly scaling: ScalingState;
}

/** The change of a turn: what the group stores, reports and waits for. */
export interface Noted {
  readonly scaling: ScalingState;
  readonly reports?: readonly GroupReport[];
  readonly timers?: GroupInput['timers'];
}

/** A timer of a group that fires at a time in milliseconds. */
export const later = (timer: string, at: number) => ({ timer, at: new Date(at).toISOString() });
