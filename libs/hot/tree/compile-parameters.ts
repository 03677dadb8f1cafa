/** The input of the compiler. */
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { PlanParameter } from '@anneal/contracts/plan.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import type { EnvironmentDocument } from '../environment/environment.ts';
import type { EvaluationWork } from '../evaluate/work.ts';
import type { EvaluationLimits } from '../limits.ts';
import type { TemplateLibrary } from './library.ts';

/** A template, its environment and files, and the limits of the work. */
export interface CompileParameters {
  readonly template: string | JsonObject;
  /** Merged in order; later ones override earlier ones. */
  readonly environments?: readonly (string | JsonObject | EnvironmentDocument)[];
  readonly files?: Readonly<Record<string, string>>;
  /** Given for this stack; they override those of the environments. */
  readonly parameters?: JsonObject;
  readonly stackName: string;
  /** Empty while the stack is not stored. */
  readonly stackId: string;
  readonly projectId: string;
  readonly types: readonly ResourceType[];
  /** The parameters of the previous plan, hidden ones decrypted. Immutable parameters are compared with them. */
  readonly previousParameters?: Readonly<Record<string, PlanParameter>>;
  /** Maximum number of resources in the stack and all stacks nested in it. Default 20,000; -1 is no limit. */
  readonly maxResources?: number;
  /** Maximum number of levels nested below the stack. Default 5. */
  readonly maxDepth?: number | undefined;
  /** Names of stored parameters that the template may no longer declare (PATCH). They are dropped without a mistake. */
  readonly droppable?: ReadonlySet<string>;
  /**
   * Reports as mistakes what Heat ignores: a path that leads nowhere, a null that becomes an empty text or list, a key
   * that is nearly the name of a function, a condition that is never looked at. Checks only what is known while
   * compiling.
   */
  readonly strict?: boolean;
  /**
   * The time at which a client asks, which a parameter with the constraint `expiration` must be after. Absent when an
   * accepted stack is compiled again: a date that has passed since then must not stop it.
   */
  readonly now?: Date | undefined;
  /** Templates already read from the same files with the same defaults. */
  readonly library?: TemplateLibrary;
  /** The operator's limits of the evaluation, for a call without `work`. */
  readonly limits?: EvaluationLimits;
  /** Work that compiling the stack and all stacks nested in it may use, with the operator's limits. */
  readonly work?: EvaluationWork;
}
