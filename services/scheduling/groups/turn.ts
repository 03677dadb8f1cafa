/** One request of a group, and the change that follows from it. */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { Occasion } from '@anneal/contracts/origin.ts';
import type { GroupWait } from '@anneal/contracts/stack-timer.ts';
import type { GroupReport, GroupTimer } from '@anneal/convergence/protocol.ts';
import type { State } from '@anneal/convergence/state.ts';
import type { StoredNestedRequest } from './kept.ts';
import type { Group } from './decision.ts';
import type { ScalingState } from './scaling-state.ts';

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
  readonly timers?: readonly GroupTimer[];
}

/** A timer of a group that fires at a time in milliseconds. */
export const later = (wait: GroupWait, at: number): GroupTimer => ({ wait, at: new Date(at).toISOString() });
