/**
 * The stack's transitions: what an input does to a stack, by the phase of the stack. Pure data; `traversal.ts` asks it.
 *
 * An input has an effect in each phase. Exceptions apply where the input would begin, end or note something: the first
 * one that holds decides instead. Inputs that are not here (responses, signals, hooks, timers of resources) depend on
 * one resource, and not on the stack.
 */
import type { StackAction, StackDocument } from '../documents.ts';
import type { Input } from '../protocol.ts';

/** `cancelled`: the action has reported its end, and awaits requests in flight. */
export const phases = [
  'new',
  'complete',
  'failed',
  'converging',
  'draining',
  'cancelled',
  'paused',
  'deleted',
] as const;
/** The state of a stack that decides about an input. */
export type StackPhase = (typeof phases)[number];

/** The reasons for which an input is refused. */
export const refusals = {
  'not found': 'the stack is deleted',
  'in progress': 'an action is in progress',
  deleting: 'the stack is being deleted, or its deletion failed: only another deletion continues',
  suspended: 'the stack is suspended',
  'not suspended': 'the stack is not suspended',
  'wrong state': 'the last action or its status does not allow it',
  'of a snapshot': 'a snapshot cannot be continued: make another one',
} as const;
/** The name of a reason to refuse an input. */
export type Refusal = keyof typeof refusals;

/** `begins`: a traversal, which overtakes a running one. `ends`: the running traversal. `notes`: a fact, for later. */
export type TransitionEffect = 'begins' | 'ends' | 'notes' | 'nothing' | Refusal;

type Subject = Pick<
  StackDocument,
  'action' | 'status' | 'phase' | 'suspended' | 'abandoned' | 'deleted_at' | 'traversal' | 'parent'
>;

const canRollBack: readonly StackAction[] = ['CREATE', 'UPDATE', 'ADOPT', 'RESTORE', 'ROLLBACK'];
const deletes = ({ action, phase }: Subject): boolean => action === 'DELETE' && phase === 'converging';

/** The facts that make an exception to the effect of a phase. */
export const conditions = {
  'the action is DELETE': ({ action }: Subject) => action === 'DELETE',
  'the action is not DELETE': ({ action }: Subject) => action !== 'DELETE',
  'the action is not UPDATE': ({ action }: Subject) => action !== 'UPDATE',
  'the action is SNAPSHOT': ({ action }: Subject) => action === 'SNAPSHOT',
  'the stack is suspended': ({ suspended }: Subject) => suspended,
  'the stack is not suspended': ({ suspended, action }: Subject) => !suspended && action !== 'RESUME',
  'the last action is not complete': ({ status }: Subject) => status !== 'COMPLETE',
  'SUSPEND is complete': ({ action, status }: Subject) => action === 'SUSPEND' && status === 'COMPLETE',
  'RESUME is complete': ({ action, status }: Subject) => action === 'RESUME' && status === 'COMPLETE',
  'a deletion converges': (stack: Subject) => deletes(stack) && !stack.abandoned,
  'an abandonment converges': (stack: Subject) => deletes(stack) && stack.abandoned,
  'the action has no rollback, or is a ROLLBACK that has not failed': ({ action, status }: Subject) =>
    !canRollBack.includes(action) || (action === 'ROLLBACK' && status !== 'FAILED'),
  'the action is neither CREATE nor UPDATE, and the stack is neither paused nor nested': (stack: Subject) =>
    stack.action !== 'CREATE' && stack.action !== 'UPDATE' && stack.phase !== 'paused' && stack.parent === null,
} as const;
type Condition = keyof typeof conditions;

interface Row {
  readonly in: { readonly [P in StackPhase]: TransitionEffect };
  readonly except?: readonly (readonly [Condition, TransitionEffect])[];
}

/** The same effect in every phase, but for those named. */
const all = (effect: TransitionEffect, but: Partial<Row['in']> = {}): Row['in'] => ({
  new: effect,
  complete: effect,
  failed: effect,
  converging: effect,
  draining: effect,
  cancelled: effect,
  paused: effect,
  deleted: effect,
  ...but,
});
/** An action that waits for the end of a running one. */
const atRest = all('in progress', { complete: 'begins', failed: 'begins', cancelled: 'begins', deleted: 'not found' });
const overtakes = all('begins', { deleted: 'not found' });
const notWhileDeleting = ['the action is DELETE', 'deleting'] as const;
const update: Row = { in: overtakes, except: [notWhileDeleting, ['the stack is suspended', 'suspended']] };

/** The effect of each input in each phase, and the exceptions; the first exception that holds decides. */
export const transitions = {
  create: { in: all('nothing', { new: 'begins' }) },
  update,
  restore: update,
  // When two scaling requests race, the second is dropped silently, as in Heat.
  scale: { in: overtakes, except: [...(update.except ?? []), ['the last action is not complete', 'nothing']] },
  delete: { in: overtakes, except: [['a deletion converges', 'nothing']] },
  abandon: { in: overtakes, except: [['an abandonment converges', 'nothing']] },
  // CHECK would overwrite the SUSPEND states, so that RESUME could not find the suspended resources.
  check: { in: atRest, except: [notWhileDeleting, ['the stack is suspended', 'suspended']] },
  suspend: { in: atRest, except: [notWhileDeleting, ['SUSPEND is complete', 'nothing']] },
  resume: {
    in: atRest,
    except: [notWhileDeleting, ['the stack is not suspended', 'not suspended'], ['RESUME is complete', 'nothing']],
  },
  snapshot: { in: atRest, except: [notWhileDeleting] },
  rollback: {
    in: all('begins', { complete: 'wrong state', deleted: 'not found' }),
    except: [['the action has no rollback, or is a ROLLBACK that has not failed', 'wrong state']],
  },
  'cancel with rollback': {
    in: all('begins', {
      complete: 'wrong state',
      failed: 'wrong state',
      cancelled: 'wrong state',
      deleted: 'not found',
    }),
    except: [['the action is not UPDATE', 'wrong state']],
  },
  cancel: {
    in: all('ends', {
      complete: 'wrong state',
      failed: 'wrong state',
      cancelled: 'wrong state',
      deleted: 'wrong state',
    }),
    except: [['the action is neither CREATE nor UPDATE, and the stack is neither paused nor nested', 'wrong state']],
  },
  retry: {
    in: all('in progress', {
      complete: 'wrong state',
      failed: 'begins',
      cancelled: 'begins',
      paused: 'begins',
      deleted: 'not found',
    }),
    except: [['the action is SNAPSHOT', 'of a snapshot']],
  },
  'mark unhealthy': {
    in: all('in progress', { complete: 'notes', failed: 'notes', cancelled: 'notes', deleted: 'notes' }),
  },
  skip: { in: all('notes', { converging: 'in progress', draining: 'in progress', cancelled: 'in progress' }) },
  'deadline passed': { in: all('nothing', { converging: 'ends', draining: 'ends', cancelled: 'ends' }) },
  'grace passed': { in: all('nothing', { converging: 'notes' }), except: [['the action is not DELETE', 'nothing']] },
} as const satisfies Readonly<Record<string, Row>>;
/** An input about the whole stack. */
export type TransitionInput = keyof typeof transitions;

/** The phase of a stack, from its document. */
export function phaseOf({ phase, status, deleted_at: deletedAt, traversal }: Subject): StackPhase {
  if (deletedAt !== null) return 'deleted';
  if (traversal === '') return 'new';
  if (phase === 'idle') return status === 'FAILED' ? 'failed' : 'complete';
  return phase === 'draining' && status === 'FAILED' ? 'cancelled' : phase;
}

/** The effect of an input on a stack, by the table. */
export function effectOf(input: TransitionInput, stack: Subject): TransitionEffect {
  const row: Row = transitions[input];
  const effect = row.in[phaseOf(stack)];
  if (effect !== 'begins' && effect !== 'ends' && effect !== 'notes') return effect;
  return row.except?.find(([condition]) => conditions[condition](stack))?.[1] ?? effect;
}

/** True when the effect is to refuse the input. */
export const isRefusal = (effect: TransitionEffect): effect is Refusal => Object.hasOwn(refusals, effect);

type StackAct = Extract<Input, { kind: 'create' | 'update' | 'delete' | 'visit' | 'rollback' | 'cancel' | 'retry' }>;

const visits = { CHECK: 'check', SUSPEND: 'suspend', RESUME: 'resume', SNAPSHOT: 'snapshot' } as const;

/** The name of an input in the table. */
export function stackInputOf(input: StackAct): TransitionInput {
  switch (input.kind) {
    case 'update':
      // The parent stack overtakes; a policy does not, unless the running update only fills a warm pool.
      if (input.scaling && !input.parent && !input.overtakes) return 'scale';
      return input.as === 'RESTORE' ? 'restore' : 'update';
    case 'delete':
      return input.abandon === true ? 'abandon' : 'delete';
    case 'visit':
      return visits[input.action];
    case 'rollback':
      return input.cancel ? 'cancel with rollback' : 'rollback';
    default:
      return input.kind;
  }
}
