/**
 * A second, independent implementation of `traversal/transitions.ts`, in code and not as data: whether an input is refused, does
 * nothing, or begins an action.
 */
import type { StackAction, StackDocument } from '../../documents.ts';
import type { FromParent, Input } from '../../protocol.ts';
import { must } from './ledger.ts';
import type { CheckedStep } from './checked-world.ts';

type Expected = 'refused' | 'nothing' | 'cancelled' | { readonly begins: StackAction } | undefined;

const maySayGoBack: readonly StackAction[] = ['CREATE', 'UPDATE', 'ADOPT', 'RESTORE', 'ROLLBACK'];

/** Undefined where the result depends on the resource. */
export function expectedOf(input: Input & FromParent, stack: StackDocument): Expected {
  const { action, status, phase } = stack;
  const runs = status === 'IN_PROGRESS';
  const deleted = stack.deleted_at !== null;
  switch (input.kind) {
    case 'create':
      return stack.traversal === '' ? { begins: stack.adopt ? 'ADOPT' : 'CREATE' } : 'nothing';
    case 'update':
      if (deleted || action === 'DELETE' || stack.suspended) return 'refused';
      return input.scaling && !input.parent && status !== 'COMPLETE' ? 'nothing' : { begins: input.as ?? 'UPDATE' };
    case 'delete': {
      if (deleted) return input.parent ? 'nothing' : 'refused';
      const same = action === 'DELETE' && phase === 'converging' && stack.abandoned === (input.abandon ?? false);
      return same ? 'nothing' : { begins: 'DELETE' };
    }
    case 'visit': {
      if (deleted || runs || action === 'DELETE') return 'refused';
      const halts = input.action === 'SUSPEND' || input.action === 'RESUME';
      if (input.action === 'CHECK' && stack.suspended) return 'refused';
      if (input.action === 'RESUME' && !stack.suspended && action !== 'RESUME') return 'refused';
      return halts && action === input.action && status === 'COMPLETE' ? 'nothing' : { begins: input.action };
    }
    case 'rollback': {
      const goes = input.cancel
        ? action === 'UPDATE' && runs
        : maySayGoBack.includes(action) && status !== 'COMPLETE' && (action !== 'ROLLBACK' || status === 'FAILED');
      return goes && !deleted ? { begins: 'ROLLBACK' } : 'refused';
    }
    case 'cancel': {
      const may = action === 'CREATE' || action === 'UPDATE' || phase === 'paused' || stack.parent !== null;
      return runs && may ? 'cancelled' : 'refused';
    }
    case 'retry': {
      const failed = status === 'FAILED' || phase === 'paused';
      return failed && !deleted && action !== 'SNAPSHOT' ? { begins: action } : 'refused';
    }
    case 'resource': {
      const busy = input.action.kind === 'mark' ? runs : phase === 'converging' || phase === 'draining';
      return busy && (input.action.kind === 'mark' || input.action.kind === 'skip') ? 'refused' : undefined;
    }
    default:
      return undefined;
  }
}

/** Checks that a step with one input did what `expectedOf` says. @throws Error that names the input */
export function checkExpected({ before, inputs, outcome: { changes, refusals }, isFresh }: CheckedStep): void {
  const [input] = inputs;
  if (!input || inputs.length > 1) return;
  const stackEvents = changes.events.filter(
    ({ resource_id, group }) => resource_id === undefined && group === undefined,
  );
  const link = 'parent' in input ? input.parent : undefined;
  const last = before.parent?.fence ?? 0;
  // Duplicates of a parent stack's request are detected by fence, all others by input id.
  const older = link && (link.fence < last || (link.fence === last && before.traversal !== ''));
  const passed = link && (input.kind === 'cancel' ? link.fence !== last || before.status !== 'IN_PROGRESS' : older);
  const repeated = link
    ? passed
    : input.kind !== 'response' && input.kind !== 'timer' && before.recent.includes(input.id);
  const expected = repeated ? 'nothing' : expectedOf(input, before);
  if (input.kind === 'signal' && !repeated && !refusals.has(input.id)) {
    const { signal } = input;
    const unset = typeof signal === 'object' && signal !== null && 'unset_hook' in signal;
    must(unset || changes.effects.some(({ kind }) => kind === 'signal'), 'a signal is not sent to its provider');
  }
  if (expected === undefined) return;
  const what = `${input.kind} of ${before.action}_${before.status}, ${before.phase}`;
  if (link && !passed && input.kind !== 'cancel') {
    const answers = changes.effects.filter(({ kind }) => kind === 'answer').length;
    if (expected === 'refused' || (expected === 'nothing' && before.status !== 'IN_PROGRESS'))
      must(answers === 1, `${what} is not answered`);
  }
  must(
    refusals.has(input.id) === (expected === 'refused'),
    `${what} is ${expected === 'refused' ? 'not ' : ''}refused`,
  );
  if (expected === 'refused' || expected === 'nothing') {
    must(
      stackEvents.length === 0 && (isFresh || changes.resources.size === 0),
      `${what} changes something, but must not`,
    );
    return;
  }
  const [first] = stackEvents;
  if (expected === 'cancelled') {
    const reason = `Stack ${before.action} cancelled`;
    must(first?.status === 'FAILED' && first.reason === reason, `${what} does not cancel it`);
    must(changes.stack.traversal !== before.traversal, `${what} keeps the traversal, but must end it`);
    return;
  }
  const begun =
    first?.action === expected.begins &&
    first.status === 'IN_PROGRESS' &&
    first.reason === `Stack ${first.action} started`;
  must(begun && first.traversal !== before.traversal, `${what} does not begin ${expected.begins}`);
}
