/** Checks of deletions: their order, the snapshot before them, and that none is repeated. */
import type { ResourceDocument } from '../../documents.ts';
import type { State } from '../../state.ts';
import type { CheckedWorld } from './checked-world.ts';
import { servesAll } from '../model.ts';
import { must } from './ledger.ts';

/** Checks that a request suits its type; requests of type `Instant` are answered within the step and never sent. */
export function checkServed({ id, type, nested, request }: ResourceDocument): void {
  if (!request || nested !== null) return;
  must(type !== 'Instant', `${id} is answered within the step, but a request is sent for it`);
  const basic = request.action === 'create' || request.action === 'update' || request.action === 'delete';
  must(basic || servesAll(type), `${id} is sent ${request.action}, which ${type} does not serve`);
}

/** Checks a delete request of this step against the stored documents. @throws Error that names the resource */
export function checkDeletion(
  world: CheckedWorld,
  state: State,
  { id, name, request, nested }: ResourceDocument,
): void {
  if (request?.action !== 'delete') return;
  const { stack, plan } = state;
  const { stored } = world.shellOf(stack.id);
  const before = stored.resources.get(id);
  if (!before) return;
  must(
    before.action !== 'DELETE' || before.status !== 'COMPLETE',
    `${id} is deleted already, but is sent a further delete request`,
  );
  if (!stack.abandoned) {
    const kept = before.skipped !== null && before.action === 'DELETE' && before.status === 'FAILED';
    must(!kept, `${id} was skipped by an operator, but is deleted`);
    // A waiting resource, or one whose update is refused and rolled back, may fail in this same step: nothing to save.
    const failed = before.hook !== null || (stack.action === 'ROLLBACK' && stored.stack.traversal !== stack.traversal);
    const whole = before.status === 'COMPLETE' && !failed && before.action !== 'INIT' && before.action !== 'SNAPSHOT';
    const saved = before.deletion_policy !== 'Snapshot' || !servesAll(before.type) || nested !== null;
    must(saved || !whole, `${id} is deleted without the snapshot that its policy requires`);
  }
  // A retry after a conflict: the deletion was decided when all new resources were complete; later changes do not
  // count.
  if (before.request?.action === 'delete' && before.request.fence === request.fence) return;
  // A rollback does not restore a creation that an earlier action began and that never completed.
  if (before.type === 'Latest' && before.action === 'CREATE' && before.request) return;
  const goesBack = stack.on_failure !== 'keep' && stack.parent === null;
  if (!goesBack || (stack.action !== 'UPDATE' && stack.action !== 'RESTORE')) return;
  if (plan.resources[name]?.replacement === 'delete_first') return;
  for (const [wanted, planned] of Object.entries(plan.resources)) {
    const stands = [...state.resources.values()].some((one) => {
      if (one.name !== wanted || one.status !== 'COMPLETE' || one.hook || one.action === 'DELETE') return false;
      const value = planned.properties['value'];
      return (
        one.external || one.skipped !== null || (value?.kind === 'literal' && one.properties['value'] === value.value)
      );
    });
    must(stands, `${id} is deleted while ${wanted} may still fail`);
  }
}

/** Checks that a snapshot begins, and ends once. */
export function checkSnapshot(before: string | undefined, now: string): void {
  must(before !== undefined || now === 'IN_PROGRESS', `a snapshot is ${now}, but never began`);
  must(
    before === undefined || before === 'IN_PROGRESS' || before === now || now === 'IN_PROGRESS',
    'a snapshot ended twice',
  );
}
