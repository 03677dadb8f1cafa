/** Why a node has changed, for its events. Pure. */
import type { Failure } from '@anneal/contracts/errors.ts';
import { noPlace, systemOccasion, type Occasion, type Origin } from '@anneal/contracts/origin.ts';
import { unreachableError, type NodeDocument } from './node.ts';

/** The error behind the fault of a node. Null without a fault. */
export const faultError = (node: NodeDocument): Failure | null =>
  node.fault === null ? null : node.fault === 'power failure' ? unreachableError(node) : node.last_error;

/** Why the power of a node has changed: by its work, by a command, or outside Anneal. */
export function powerReason(before: NodeDocument, after: NodeDocument): string {
  const { work } = before;
  if (after.power === null) return `power unknown: ${unreachableError(after)?.message ?? 'its BMC does not answer'}`;
  const verb = after.power === 'power on' ? 'turned on' : 'turned off';
  if (work?.step === 'change power') return `power ${verb} as requested`;
  if (work) return `power ${verb} while the node is ${before.state} (${work.step})`;
  return before.power === null ? `power read: ${after.power}` : `power ${verb} outside`;
}

/** Why the fault of a node was set or cleared. */
export const faultReason = (before: NodeDocument, after: NodeDocument): string =>
  after.fault === null ? `${before.fault} is over` : `${after.fault}: ${faultError(after)?.message ?? after.reason}`;

/**
 * The origin of an event of a node. A node that has lost its server in the change is still reported with it. Without work
 * the system noticed the change.
 */
export function originOfNode(
  before: NodeDocument | undefined,
  after: NodeDocument,
  { reason, noticed = false }: { reason: string; noticed?: boolean },
): Origin {
  const known = after.origin ?? before?.origin ?? null;
  const said: Occasion = known && !noticed ? known : systemOccasion();
  const { kind, id } = said.cause;
  const { root, path, tags } = known ?? noPlace;
  return { root, path, tags, actor: said.actor, cause: { kind, id, reason: said.cause.reason ?? reason } };
}
