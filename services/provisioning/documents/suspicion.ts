/**
 * Machines that died without an order. Pure.
 *
 * S1 A machine is lost when it is off while its node has a server and no work, and was on before; or when its server ends while
 *    its host is silent. A host that comes back ends its silence, because only the network may have failed.
 * S2 A silence of a machine that is off is no further loss: its loss was counted, or it was turned off by an order.
 * S3 A machine with too many losses in a day gets no server until a person clears it, however long that takes.
 */
import type { Condition } from '@anneal/contracts/calls/stacks.ts';
import type { NodeState, powerStates } from '@anneal/contracts/calls/nodes.ts';

const dayMs = 86_400_000;
/** The losses that a node keeps. */
const mostKept = 20;

/** A death of the machine of a node without an order. */
export interface MachineLoss {
  readonly at: string;
  readonly reason: string;
}

/** The part of a node that has its losses. */
export interface LossRecord {
  /** The losses since a person cleared them, oldest first. Absent: none. */
  readonly losses?: readonly MachineLoss[];
  /** Too many losses in a day (S3). Absent: false. */
  readonly quarantined?: boolean;
  /** Since when its host is silent. Absent or null: it is not. */
  readonly silent_since?: string | null;
}

interface WatchedNode extends LossRecord {
  readonly state: NodeState;
  readonly power: (typeof powerStates)[number] | null;
  readonly work: object | null;
  readonly instance_id: string | null;
}

/** Whether placement takes the node last. */
export const isSuspected = ({ losses = [] }: LossRecord): boolean => losses.length > 0;

/** S1. The losses after a change of a node. Undefined when it is no loss. */
export function afterLoss(
  before: WatchedNode,
  after: WatchedNode,
  { at, most }: { at: Date; most: number },
): LossRecord | undefined {
  const reason = lossIn(before, after);
  if (reason === undefined) return undefined;
  const losses: readonly MachineLoss[] = [...(before.losses ?? []), { at: at.toISOString(), reason }].slice(-mostKept);
  const ofDay = losses.filter((loss) => at.getTime() - Date.parse(loss.at) < dayMs);
  return { losses, silent_since: null, quarantined: before.quarantined === true || ofDay.length >= most };
}

function lossIn(before: WatchedNode, after: WatchedNode): string | undefined {
  const isAtRest = before.work === null && after.work === null && after.instance_id !== null;
  if (isAtRest && before.power === 'power on' && after.power === 'power off') return 'it lost its power';
  const isEnding = before.state !== 'deleting' && after.state === 'deleting';
  return isEnding && before.silent_since ? `its host was silent since ${before.silent_since}` : undefined;
}

/** S2. The change when the host of a node falls silent. */
export const afterSilence = (node: WatchedNode, since: string): LossRecord | undefined =>
  node.work !== null || node.power === 'power off' ? undefined : { silent_since: since };

/** The change when a person clears the suspicion. */
export const clearedSuspicion: LossRecord = { losses: [], quarantined: false };

export function suspectConditions({
  name,
  losses = [],
  quarantined = false,
}: LossRecord & { readonly name: string }): Condition[] {
  const [first] = losses;
  const last = losses.at(-1);
  if (!first || !last) return [];
  const count = losses.length === 1 ? 'once' : `${losses.length} times`;
  const effect = quarantined ? 'It gets no server' : 'It gets a server only when no other node fits,';
  return [
    {
      type: 'Suspect',
      status: 'True',
      reason: quarantined ? 'TooManyLosses' : 'Lost',
      message: `It died ${count} without an order, last at ${last.at}: ${last.reason}. ${effect} until: anneal node clear-suspect ${name}`,
      since: first.at,
    },
  ];
}
