/** How a state looks, in the terminal and in the browser. */

/** The kinds of states that a reader must tell apart at a glance. `wait`: it does not go on without a person. */
export type Tone = 'done' | 'busy' | 'wait' | 'failed' | 'idle';

/** The tone of a status such as `CREATE_COMPLETE`, `power on`, `silent`, or of the type of an event. */
export function toneOf(status: string): Tone {
  if (status.startsWith('INIT')) return 'idle';
  if (/fail|error|dead|degraded|unreach|^down$|\.down$|^alarm$/i.test(status)) return 'failed';
  if (/silent|hold|paused|unconfirmed|disabled|maintenance/i.test(status)) return 'wait';
  if (/in_progress|ing$|wait|pending|queued/i.test(status)) return 'busy';
  if (/complete|success|active|available|^up$|\.up$|delivered|power on|answered|ok$|ready/i.test(status)) return 'done';
  return 'idle';
}
