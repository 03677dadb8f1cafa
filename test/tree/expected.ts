/** The values that a tree must have, by stack and resource. */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';

export interface ExpectedStack {
  readonly outputs: { [name: string]: Json };
  readonly resources: { [name: string]: ExpectedResource };
}

export interface ExpectedResource {
  readonly type: string;
  /** Attributes of a resource without a nested stack. Others may have any value. */
  readonly attributes?: JsonObject;
  readonly inner?: ExpectedStack;
  /** A change of this text replaces the resource; otherwise an update keeps it. */
  readonly lasting: string;
}

/** The number of resources of a stack and its nested stacks. */
export const resourcesIn = ({ resources }: ExpectedStack): number =>
  Object.values(resources).reduce((sum, { inner }) => sum + 1 + (inner ? resourcesIn(inner) : 0), 0);

/** The levels of nested stacks below a stack. */
export const depthOf = ({ resources }: ExpectedStack): number =>
  Object.values(resources).reduce((most, { inner }) => Math.max(most, inner ? 1 + depthOf(inner) : 0), 0);
