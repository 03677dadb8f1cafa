/**
 * The revisions of a root stack: the states that updates sent it towards, by content hash, for a diff and for a return.
 *
 * R1 A revision is written before the stack that follows it, so every stack finds its current revision.
 * R2 A repeated write changes nothing, because the id and the contents of a revision come from the record.
 * R3 The latest revisions are kept; the current one is among them.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Occasion } from '@anneal/contracts/origin.ts';
import type { StackRevision } from '@anneal/contracts/calls/stack-history.ts';
import type { StackAction, StackDocument, Target } from '@anneal/convergence/documents.ts';
import type { Collection, Document } from '@anneal/store/port.ts';

export interface RevisionDocument extends Document {
  readonly stack_id: string;
  /** When the stack was last sent towards it. */
  readonly at: string;
  readonly action: StackAction;
  readonly status: StackDocument['status'];
  readonly reason: string;
  readonly target: Target;
  /** The actor and the cause of the action; absent in documents of older versions. */
  readonly occasion?: Occasion;
}

/** The actions that lead towards a target. Others leave the revision as it was. */
const leading: ReadonlySet<StackAction> = new Set(['CREATE', 'UPDATE', 'ROLLBACK', 'RESTORE', 'ADOPT']);

/** Whether a step leads a root stack to another revision, or ends its way there. */
export const touchesRevision = (before: StackDocument, after: StackDocument): boolean =>
  after.depth === 0 &&
  after.deleted_at === null &&
  leading.has(after.action) &&
  (after.version === 1 ||
    before.target.revision !== after.target.revision ||
    before.action !== after.action ||
    before.status !== after.status);

const idOf = (stackId: string, revision: string): string => `${stackId}:${revision}`;

/** Writes the revision that the stack follows, and removes all but the latest. Safe to repeat. */
export async function keepRevision(
  revisions: Collection<RevisionDocument>,
  { stack, time, most }: { stack: StackDocument; time: string; most: number },
): Promise<void> {
  if (most === 0) return;
  const id = idOf(stack.id, stack.target.revision);
  const known = await revisions.get(id);
  const isSame = known?.action === stack.action && known.status === 'IN_PROGRESS';
  const { action, status, reason, target, occasion } = stack;
  const own = { action, status, reason, target, ...(occasion && { occasion }) };
  const document = { id, stack_id: stack.id, at: isSame ? known.at : time, ...own };
  await revisions.bulk([{ kind: 'put', document }]);
  if (known) return;
  const all = await revisions.find({ where: { stack_id: stack.id }, orderBy: ['at'], descending: true });
  const old = all.filter((each) => each.id !== id).slice(most - 1);
  if (old.length > 0) await revisions.bulk(old.map((each) => ({ kind: 'remove', id: each.id })));
}

export async function removeRevisions(revisions: Collection<RevisionDocument>, stackId: string): Promise<void> {
  const found = await revisions.find({ where: { stack_id: stackId } });
  if (found.length > 0) await revisions.bulk(found.map(({ id }) => ({ kind: 'remove', id })));
}

/** @throws AnnealError NotFound */
export async function findRevision(
  revisions: Collection<RevisionDocument>,
  stack: StackDocument,
  revision: string,
): Promise<RevisionDocument> {
  const found = await revisions.get(idOf(stack.id, revision));
  if (found) return found;
  const message = `The stack ${stack.name} has no revision ${revision}; only the latest ones are kept.`;
  throw new AnnealError('NotFound', message);
}

/** A revision as clients see it. One that another superseded while it was in progress never completes. */
export function revisionView(
  stack: StackDocument,
  { at, action, status, reason, target, occasion }: RevisionDocument,
): StackRevision {
  const isCurrent = target.revision === stack.target.revision;
  const end =
    isCurrent || status !== 'IN_PROGRESS'
      ? { status, reason }
      : { status: 'FAILED' as const, reason: `Stack ${action} did not complete before the next revision` };
  return {
    id: target.revision,
    at,
    action,
    ...end,
    is_current: isCurrent,
    plan: target.plan,
    ...(occasion && { occasion }),
  };
}
