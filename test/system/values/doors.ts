/** The doors of the system: each sends a document in at one place, and returns it as it comes out at another. */
import { cliDoors } from './cli-doors.ts';
import type { Door } from './door.ts';
import { eventDoors } from './event-doors.ts';
import { hostDoors, stackHostDoors } from './host-doors.ts';
import { nodeDoors } from './node-doors.ts';
import { queueDoors } from './queue-doors.ts';
import { stackDoors } from './stack-doors.ts';
import { expressionDoors, workflowDoors } from './workflow-doors.ts';

/** Values pass them in the form in which they were sent. */
export const plainDoors: Readonly<Record<string, Door>> = {
  ...queueDoors,
  ...eventDoors,
  ...hostDoors,
  ...workflowDoors,
  ...nodeDoors,
  ...cliDoors,
};

/** The template language reads the values, and writes numbers as Python does: 1e2 is 100.0. */
export const languageDoors: Readonly<Record<string, Door>> = {
  ...stackDoors,
  ...stackHostDoors,
  ...expressionDoors,
};
