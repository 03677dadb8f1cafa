/** The durable timers of stacks and executions: what each waits for. */
import { z } from 'zod';

/** Timers that the engine of stacks handles. All but `retry` and `hook` belong to one traversal. */
const engineTimerSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('deadline') }).meta({ description: 'The deadline of the action.' }),
  z.object({ kind: z.literal('grace') }).meta({ description: 'The end of the grace of a deletion.' }),
  z.object({ kind: z.literal('batch') }).meta({ description: 'The end of the pause between two batches.' }),
  z
    .object({ kind: z.literal('retry'), resource: z.string(), fence: z.number().int().nonnegative() })
    .meta({ description: 'The end of the delay of a request that met a conflict.' }),
  z
    .object({ kind: z.literal('hook'), resource: z.string(), token: z.string() })
    .meta({ description: 'The deadline of a wait at a hook.' }),
]);
export type EngineTimer = z.infer<typeof engineTimerSchema>;

/** Waits of a group. They outlive traversals. */
const groupWaitSchema = z.discriminatedUnion('kind', [
  z
    .object({ kind: z.literal('decide'), token: z.string() })
    .meta({ description: 'The deadline of a decision about a scaling.' }),
  z
    .object({ kind: z.literal('due'), request: z.string() })
    .meta({ description: 'The request of a schedule that found the group busy.' }),
  z.object({ kind: z.literal('fill') }).meta({ description: 'The warm pool may have room.' }),
  z
    .object({ kind: z.literal('lost'), member: z.string() })
    .meta({ description: 'The time at which a lost member is replaced.' }),
  z
    .object({ kind: z.literal('leave') })
    .meta({ description: 'Members that leave may still be there; their deletion is tried again.' }),
  z.object({ kind: z.literal('next') }).meta({ description: 'A change of the group ended; another may be due.' }),
]);
export type GroupWait = z.infer<typeof groupWaitSchema>;

const taskParts = { task: z.number().int().nonnegative(), attempt: z.number().int().nonnegative() };

/** Timers of one attempt of a task of an execution. */
const taskTimerSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('task wait'), ...taskParts }),
  z.object({ kind: z.literal('task timeout'), ...taskParts }),
]);
export type TaskTimer = z.infer<typeof taskTimerSchema>;

/** Every timer of a stack or an execution. */
export const stackTimerSchema = z.discriminatedUnion('kind', [
  ...engineTimerSchema.options,
  ...taskTimerSchema.options,
  z
    .object({ kind: z.literal('route'), resource: z.string(), fence: z.number().int().nonnegative() })
    .meta({ description: 'Looks again for the provider of a request.' }),
  z.object({ kind: z.literal('group'), wait: groupWaitSchema }),
]);
export type StackTimer = z.infer<typeof stackTimerSchema>;

/** Names a timer. The name is unique for its purpose among the timers of its stack and traversal. */
export function stackTimerName(timer: StackTimer): string {
  switch (timer.kind) {
    case 'deadline':
    case 'grace':
    case 'batch':
      return timer.kind;
    case 'retry':
    case 'route':
      return `${timer.kind}:${timer.resource}:${timer.fence}`;
    case 'hook':
      return `hook:${timer.resource}:${timer.token}`;
    case 'task wait':
      return `wait.${timer.task}.${timer.attempt}`;
    case 'task timeout':
      return `timeout.${timer.task}.${timer.attempt}`;
    case 'group':
      return groupWaitName(timer.wait);
  }
}

function groupWaitName(wait: GroupWait): string {
  switch (wait.kind) {
    case 'decide':
      return `group:decide:${wait.token}`;
    case 'due':
      return `group:due:${wait.request}`;
    case 'lost':
      return `group:lost:${wait.member}`;
    case 'fill':
    case 'leave':
    case 'next':
      return `group:${wait.kind}`;
  }
}
