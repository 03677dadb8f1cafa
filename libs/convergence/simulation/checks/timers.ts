/** Checks that every wait for a time has a durable timer, and that no timer is left after its wait. */
import type { EngineTimer } from '@anneal/contracts/stack-timer.ts';
import { must } from './ledger.ts';
import type { SimulatedTimer } from '../broker.ts';
import type { Shell } from '../shell.ts';

/** Checks the timers of a stack; `isSet` knows those that are set or fire. @throws Error that names the timer */
export function checkTimers({ stack, resources }: Shell['stored'], isSet: (timer: SimulatedTimer) => boolean): void {
  const has = (timer: EngineTimer, traversal = stack.traversal): boolean => isSet({ timer, traversal });
  const live = stack.phase === 'converging' || stack.phase === 'draining';
  must(
    has({ kind: 'deadline' }) === live,
    `C5: the stack is ${stack.phase}, but its deadline timer is ${live ? 'not set' : 'left'}`,
  );
  const pausing = live && (stack.batch?.until ?? null) !== null;
  must(!pausing || has({ kind: 'batch' }), 'C5: no timer ends the pause between two batches');
  must(live || !(has({ kind: 'batch' }) || has({ kind: 'grace' })), 'a timer of an ended traversal is left');
  for (const { id, hook, request } of resources.values()) {
    if (hook && hook.deadline !== null)
      must(
        has({ kind: 'hook', resource: id, token: hook.token }, hook.traversal),
        `C5: ${id} waits at a hook without a timer`,
      );
    if (!request || request.not_before === null) continue;
    must(
      has({ kind: 'retry', resource: id, fence: request.fence }, request.traversal),
      `C5: ${id} waits for a retry without a timer`,
    );
  }
}
