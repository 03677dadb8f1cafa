const firstMs = 100;
const slowestMs = 30_000;

/**
 * The wait after a failed attempt: 100 ms doubling to 30 s. Half of it is random, so that messages that failed together
 * are not retried together.
 */
export function defaultBackoff(attempt: number, random: () => number = Math.random): number {
  const whole = Math.min(slowestMs, firstMs * 2 ** Math.min(attempt - 1, 20));
  return Math.round(whole / 2 + (random() * whole) / 2);
}
