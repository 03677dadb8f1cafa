/** Checks that every wait for a time has a durable timer, and that no timer is left after its wait. */
import { must } from './ledger.ts';
import type { Shell } from '../shell.ts';

/** Checks the timers of a stack; `isSet` knows those that are set or fire. @throws Error that names the timer */
export function checkTimers({ stack, resources }: Shell['stored'], isSet: (timer: string) => boolean): void {
  const has = (timer: string, traversal = stack.traversal): boolean => isSet(`${stack.id} ${traversal} ${timer}`);
  const live = stack.phase === 'converging' || stack.phase === 'draining';
  must(
    has('deadline') === live,
    `C5: the stack is ${stack.phase}, but its deadline timer is ${live ? 'not set' : 'left'}`,
  );
  const pausing = live && (stack.batch?.until ?? null) !== null;
  must(!pausing || has('batch'), 'C5: no timer ends the pause between two batches');
  must(live || !(has('batch') || has('grace')), 'a timer of an ended traversal is left');
  for (const { id, hook, request } of resources.values()) {
    if (hook && hook.deadline !== null)
      must(has(`hook:${id}:${hook.token}`, hook.traversal), `C5: ${id} waits at a hook without a timer`);
    if (!request || request.not_before === null) continue;
    must(has(`retry:${id}:${request.fence}`, request.traversal), `C5: ${id} waits for a retry without a timer`);
  }
}
