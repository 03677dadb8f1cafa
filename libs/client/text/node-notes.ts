/** The work of a node, and the conditions that an operator should know, beside its state. Pure. */
import type { Condition } from '@anneal/contracts/calls/stacks.ts';
import { phaseText, progressBar, progressText } from '@anneal/contracts/node-progress.ts';
import type { NodeRepresentation } from '../representation.ts';

/** Conditions that other parts of a representation show: the last error, the contact with the BMC, the turn. */
const shownElsewhere: readonly string[] = ['Reachable', 'HasSlot'];

/** The step of a node, since when it runs and until when it may. Null at rest. */
export function workOf({ reservation }: NodeRepresentation): string | null {
  return typeof reservation === 'string' ? reservation.replace(/^provisioning: /, '') : null;
}

/** How far its machine is with its disk: `writes image debian [#########-----------] 412 MiB of 902 MiB (45 %), …`. */
export const progressLineOf = ({ progress }: Pick<NodeRepresentation, 'progress'>): string | null =>
  progress && `${phaseText(progress)} ${progressBar(progress)} ${progressText(progress)}`;

/** The conditions with a message that the last error does not have. */
export function notesOf(node: NodeRepresentation): readonly Condition[] {
  const { conditions = [], last_error: error } = node as { conditions?: readonly Condition[]; last_error?: unknown };
  const isError = (message: string): boolean => typeof error === 'string' && error !== '' && message.endsWith(error);
  return conditions.filter(
    ({ type, message }) => message !== '' && !isError(message) && !shownElsewhere.includes(type),
  );
}
