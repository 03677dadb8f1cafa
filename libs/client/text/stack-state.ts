/** How the state of a stack is shown to a person, in the terminal and in the browser. Pure. */
import type { StackRow } from '../representation.ts';

/** The state, e.g. `CREATE_COMPLETE`. A cancelled action counts as failed in Heat; a person reads `CREATE_CANCELLED`. */
export const shownState = ({ stack_status: status, cancelled }: Pick<StackRow, 'stack_status' | 'cancelled'>): string =>
  cancelled ? status.replace(/_FAILED$/, '_CANCELLED') : status;

/** When the stack came into its state: the end of its last action, or the begin of the running one. */
export const changedTime = ({
  finished_at,
  updated_time,
  creation_time,
}: Pick<StackRow, 'finished_at' | 'updated_time' | 'creation_time'>): string | null =>
  finished_at ?? updated_time ?? creation_time;
