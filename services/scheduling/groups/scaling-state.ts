/** The stored state of a group that scales, besides its members: requests, waits, and the wishes of operators. Pure. */
import type { ScalingOutcome } from '@anneal/contracts/calls/scaling.ts';
import type { Adjustment } from './size.ts';
import type { Scaling } from '@anneal/convergence/documents.ts';

/** A change of members that was decided, and has not begun. */
export interface Proposal {
  /** The id of the request. */
  readonly id: string;
  readonly reason: Scaling['reason'];
  readonly policy: string | null;
  readonly message: string | null;
  readonly before: number;
  readonly after: number;
  /** The members that leave. New ones come until the group has its size. */
  readonly leaving: readonly string[];
  /** The members of which the leaving ones were chosen. */
  readonly candidates: readonly string[];
  /** The cooldown after it; null: it starts none. */
  readonly cooldown: { readonly seconds: number; readonly blocks?: 'in' } | null;
}

/** The wait for a listener of the hook `deciding`. */
export interface Deciding {
  readonly proposal: Proposal;
  /** Proves that a listener means this wait. */
  readonly token: string;
  readonly since: string;
  readonly deadline: string;
  /** Heartbeats cannot move the deadline beyond this. */
  readonly last: string;
}

/** How a loss shows: the host does not ask for work, or its node has a fault. */
export type LossSign = 'silence' | 'fault';

/** When a sign of a loss appeared. */
export interface LossReport {
  readonly since: string;
  /** The id of the event that reported it. */
  readonly event: string;
  /** The fault of the node. */
  readonly reason?: string;
}

/** A member that shows signs of a loss. `since` and `event` are those of the first of them. */
export interface LostMember extends LossReport {
  readonly host_id: string;
  /** Absent in documents of earlier versions: silence. */
  readonly signs?: Readonly<Partial<Record<LossSign, LossReport>>>;
}

/** A replacement of all members, in batches. */
export interface Refresh {
  readonly id: string;
  readonly state: 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled';
  /** The members that it replaces, the first of them first; those that are gone are replaced. */
  readonly members: readonly string[];
  readonly batch: number;
  /** Percentages at which it waits, and those that it has passed. */
  readonly checkpoints: readonly number[];
  readonly passed: readonly number[];
  readonly since: string;
}

export interface ScalingState {
  /** The changes of size that policies may not make. */
  readonly paused?: 'out' | 'in' | 'both';
  readonly protected?: readonly string[];
  /** The latest requests, the newest last. */
  readonly outcomes?: readonly ScalingOutcome[];
  readonly deciding?: Deciding;
  readonly lost?: Readonly<Record<string, LostMember>>;
  readonly refresh?: Refresh;
  /** Why the warm pool is not filled, and since when. */
  readonly unfilled?: { readonly since: string; readonly reason: string };
  /** The latest request of a schedule that came while the group was busy. */
  readonly due?: { readonly id: string; readonly adjustment: Adjustment };
}

const keptOutcomes = 20;

/** The outcomes with another one. A repeat of a request replaces its earlier outcome. */
export function withOutcome(state: ScalingState, outcome: ScalingOutcome): ScalingState {
  const others = (state.outcomes ?? []).filter(({ id }) => id !== outcome.id);
  return { ...state, outcomes: [...others, outcome].slice(-keptOutcomes) };
}

/** The part of the state that a group with these members keeps: nothing about members that are gone. */
export function keptScaling(state: ScalingState | undefined, names: readonly string[]): ScalingState | undefined {
  if (!state) return undefined;
  const there = new Set(names);
  const { protected: safe, lost, ...rest } = state;
  const stillSafe = safe?.filter((name) => there.has(name)) ?? [];
  const stillLost = Object.entries(lost ?? {}).filter(([name]) => there.has(name));
  return {
    ...rest,
    ...(stillSafe.length > 0 && { protected: stillSafe }),
    ...(stillLost.length > 0 && { lost: Object.fromEntries(stillLost) }),
  };
}

/** How many of the members of a refresh are replaced. */
export const refreshed = ({ members }: Refresh, names: readonly string[]): number =>
  members.filter((name) => !names.includes(name)).length;
