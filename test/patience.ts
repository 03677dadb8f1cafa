/**
 * The limit of each condition that a test waits for, in milliseconds. It only ends what hangs, because the machine may be as
 * busy as it likes. The same holds for `eventually` of the runtime.
 */
export const patience = { timeout: 60_000, interval: 20 };
