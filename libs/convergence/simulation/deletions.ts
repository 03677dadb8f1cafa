/** Deletions: in what order, after which snapshot, and of nothing that is gone already. */
import type { ResourceDocument } from '../documents.ts';
import type { State } from '../state.ts';
import { must } from './books.ts';
import type { World } from './world.ts';

/** Types serve what they say they do; what costs nothing is answered within the step. */
export function checkServed({ id, type, nested, request }: ResourceDocument): void {
  if (!request || nested !== null) return;
  must(type !== 'Instant', `${id} costs nothing, and is asked by a message`);
  const basic = request.action === 'create' || request.action === 'update' || request.action === 'delete';
  must(basic || type === 'Test', `${id} is asked to ${request.action}, which ${type} does not serve`);
}

export function checkDeletion(world: World, state: State, { id, name, request, nested }: ResourceDocument): void {
  if (request?.action !== 'delete') return;
  const { stack, plan } = state;
  const { stored } = world.shellOf(stack.id);
  const before = stored.resources.get(id);
  if (!before) return;
  must(before.action !== 'DELETE' || before.status !== 'COMPLETE', `${id} is deleted, and is to be once more`);
  if (!stack.abandoned) {
    const kept = before.skipped !== null && before.action === 'DELETE' && before.status === 'FAILED';
    must(!kept, `${id} was to be left as it is, and is deleted`);
    // What waits may fail in this very step, as what is refused and gone back from may: it has nothing to save.
    const failed = before.hook !== null || (stack.action === 'ROLLBACK' && stored.stack.traversal !== stack.traversal);
    const whole = before.status === 'COMPLETE' && !failed && before.action !== 'INIT' && before.action !== 'SNAPSHOT';
    const saved = before.deletion_policy !== 'Snapshot' || before.type !== 'Test' || nested !== null;
    must(saved || !whole, `${id} is deleted without the snapshot that was wanted`);
  }
  // The same request once more, after a conflict: the deletion was decided when everything stood, whatever was disturbed since.
  if (before.request?.action === 'delete' && before.request.fence === request.fence) return;
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
    must(stands, `${id} is deleted, and ${wanted} may still fail`);
  }
}

/** A snapshot is begun, and ends once: as it was said to. */
export function checkSnapshot(before: string | undefined, now: string): void {
  must(before !== undefined || now === 'IN_PROGRESS', `a snapshot is ${now}, and was never begun`);
  must(before === undefined || before === 'IN_PROGRESS' || before === now || now === 'IN_PROGRESS', 'it ended twice');
}
