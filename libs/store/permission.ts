/**
 * The permission of a process to take work that another replica could do as well: messages of shared queues, queues that
 * it would own, due timers, sweeps. The bus decides whether this process has it (`libs/bus/active/presence.ts`); code that
 * finds work elsewhere than in a queue asks.
 */
export interface WorkPermission {
  /** False while this process cannot prove that it reaches the broker and the store. */
  readonly isHeld: boolean;
  /** The name of this process among the others. It stands in whatever the process takes for a while. */
  readonly holder: string;
  /** False for a process that has ended, or that the others have given up. */
  isAlive(holder: string): boolean;
  /**
   * Calls the listener when the permission comes or goes, and when a process is alive no longer. Returns a function that
   * ends this. The listener must not throw.
   */
  watch(listener: () => void): () => void;
}

/** For a process that shares its broker with no other, which could do its work. */
export const soleProcess = (holder: string): WorkPermission => ({
  isHeld: true,
  holder,
  isAlive: (other) => other === holder,
  watch: () => () => undefined,
});
