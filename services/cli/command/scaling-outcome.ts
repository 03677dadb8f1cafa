/** The outcome of a request to scale a group, as a line for a person. */
import type { ScalingOutcome } from '@anneal/contracts/calls/scaling.ts';

export function outcomeLine({ result, group, before, after, message, retry_after: seconds }: ScalingOutcome): string {
  if (result === 'applied') return `${group} scales: ${before} → ${after}.`;
  if (result === 'deciding') return `${group} waits for a listener to decide: ${before} → ${after}.`;
  const retry = seconds === null ? '' : ` Try again in ${Math.ceil(seconds)} s.`;
  return `Not scaled${group === '' ? '' : `: ${group} stays at ${before}`}. ${message}${retry}`;
}
