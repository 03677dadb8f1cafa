/**
 * The right to take from a queue that several processes share: each has it while it may work (`presence.ts` P2). A
 * process that is cut off gives back its messages, and the others take all.
 */
import type { WorkPermission } from '@anneal/store/permission.ts';
import type { Ownership } from './owners.ts';

/** The right of one consumer. */
export function whilePermitted(permission: WorkPermission): Ownership {
  let end = (): void => undefined;
  return {
    campaign(_queue, contender) {
      const follow = (): void => {
        if (permission.isHeld) contender.gain();
        else void contender.yield({ lost: true });
      };
      end = permission.watch(follow);
      follow();
      return Promise.resolve();
    },
    withdraw: () => Promise.resolve(end()),
    close: () => Promise.resolve(),
  };
}
