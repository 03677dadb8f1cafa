/**
 * The timers of stacks, executions and lost servers: in the store, in the records of the journal, and in messages.
 *
 * Release 0.1.0 wrote the name of a timer alone, and its replicas may run beside those of this release during an upgrade.
 * So each record, stored timer and message has the name too, which they read, and `dueOf` reads one that has the name
 * alone. Remove both when no installation upgrades from 0.1.0.
 */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject } from '@anneal/contracts/json.ts';
import { timerFired } from '@anneal/contracts/calls/stacks.ts';
import { isExecutionId } from '@anneal/contracts/calls/workflow.ts';
import { stackTimerName, stackTimerSchema, type StackTimer, type TaskTimer } from '@anneal/contracts/stack-timer.ts';
import { createTimerCodec } from '@anneal/runtime/time/timer-codec.ts';
import { z } from 'zod';
import { lossId, lossSchema } from './loss.ts';

/** The timer in a record or a message. `due` is absent in those of release 0.1.0. */
export interface NamedTimer {
  readonly timer: string;
  readonly due?: StackTimer | undefined;
}

/** Adds the name of a timer. */
export const namedTimer = (due: StackTimer) => ({ timer: stackTimerName(due), due });

/** Reads the timer of a record or a message. @throws AnnealError InvalidMessage for an unknown name */
export const dueOf = ({ timer, due }: NamedTimer): StackTimer => due ?? timerOfName(timer);

/** Reads the timer that a message reports. Undefined for a message of another type. @throws AnnealError InvalidMessage */
export const firedTimer = ({ type, data }: Pick<Envelope, 'type' | 'data'>): StackTimer | undefined =>
  type === timerFired.type ? dueOf(data as z.infer<typeof timerFired.data>) : undefined;

/**
 * Refuses a message with a timer that this stack or execution does not have.
 * @throws AnnealError InvalidMessage, which makes the message a dead letter
 */
export function requireTimer(message: Envelope, stackId: string): void {
  const timer = firedTimer(message);
  if (!timer || isTaskTimer(timer) === isExecutionId(stackId)) return;
  const owner = isExecutionId(stackId) ? 'execution' : 'stack';
  throw new AnnealError(
    'InvalidMessage',
    `Cannot handle timer ${stackTimerName(timer)}: the ${owner} ${stackId} sets none.`,
  );
}

/** True for a timer of an execution. */
export function isTaskTimer(timer: StackTimer): timer is TaskTimer {
  switch (timer.kind) {
    case 'task wait':
    case 'task timeout':
      return true;
    case 'deadline':
    case 'grace':
    case 'batch':
    case 'retry':
    case 'hook':
    case 'route':
    case 'group':
      return false;
  }
}

const storedSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('stack'),
    /** A stack or an execution. */
    stack_id: z.string(),
    timer: z.string(),
    due: stackTimerSchema,
    traversal: z.string(),
  }),
  z.object({ kind: z.literal('lost'), lost: lossSchema }),
]);
type StoredStackTimer = z.infer<typeof storedSchema>;

/** Reads and writes the collection `scheduling_timers`. */
export const stackTimers = createTimerCodec<StoredStackTimer>({
  schema: storedSchema,
  idOf: (timer) => (timer.kind === 'lost' ? lossId(timer.lost) : idOf(timer)),
  earlier: ({ data }) => {
    if (!isObject(data)) return data;
    if (isObject(data['lost'])) return { kind: 'lost', lost: data['lost'] };
    const { timer } = data;
    return { ...data, kind: 'stack', due: typeof timer === 'string' ? dueOf({ timer }) : undefined };
  },
});

/** Gives a timer of a stack or an execution its stored form. */
export const timerOfStack = (
  { stack_id, traversal }: { stack_id: string; traversal: string },
  due: StackTimer,
): Extract<StoredStackTimer, { kind: 'stack' }> => ({ kind: 'stack', stack_id, traversal, ...namedTimer(due) });

function idOf({ stack_id, traversal, timer, due }: Extract<StoredStackTimer, { kind: 'stack' }>): string {
  // One for each resource: a newer request moves it.
  if (due.kind === 'route') return `${stack_id}:route:${due.resource}`;
  return isTaskTimer(due) ? `${stack_id}:${timer}` : `${stack_id}:${traversal}:${timer}`;
}

/** The timer of a name of release 0.1.0: its parts are between colons, those of a task between dots. */
function timerOfName(name: string): StackTimer {
  const parsed = stackTimerSchema.safeParse(partsOf(name));
  if (parsed.success) return parsed.data;
  throw new AnnealError('InvalidMessage', `Cannot handle timer "${name}": no timer has this name.`);
}

/** The schema drops the fields that a kind does not have. */
function partsOf(name: string): unknown {
  const [kind, resource, ...rest] = name.split(':');
  const tail = rest.length > 0 ? rest.join(':') : undefined;
  switch (kind) {
    case 'retry':
    case 'route':
      return { kind, resource, fence: whole(tail) };
    case 'hook':
      return { kind, resource, token: tail };
    case 'group':
      return { kind, wait: { kind: resource, token: tail, request: tail, member: tail } };
    case 'deadline':
    case 'grace':
    case 'batch':
      return { kind };
    default: {
      const [what, task, attempt] = name.split('.');
      return { kind: `task ${what}`, task: whole(task), attempt: whole(attempt) };
    }
  }
}

/** The number in a text. The schema refuses any other text. */
const whole = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
