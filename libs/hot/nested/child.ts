/** A nested stack about to be compiled, from a template or a group. */
import type { Mistake } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { PlanParameter } from '@anneal/contracts/plan.ts';
import type { Environment } from '../environment/environment.ts';
import type { ParameterSchema } from '../parameters/parameter-schema.ts';
import type { StackIdentity } from '../parameters/pseudo.ts';
import type { NestedScope } from '../tree/stack-scope.ts';
import type { Template } from '../syntax/template.ts';
import type { Body, CompileInput } from '../tree/tree.ts';

/** A nested stack that is read, with the values of its parameters. */
export interface Child {
  /** File that messages name for its mistakes. */
  readonly file: string;
  readonly read: Template;
  readonly schemas: ReadonlyMap<string, ParameterSchema>;
  readonly parameters: JsonObject;
  readonly values: Record<string, PlanParameter>;
  readonly environment: Environment;
  readonly identity: StackIdentity;
  /** Name of the parameter that represents every unknown value. */
  readonly open?: string;
  /** Adapts its mistakes for the report. */
  report(mistakes: readonly Mistake[]): readonly Mistake[];
  /** Values of the compiled stack that the stack around it can read. */
  show(body: Body): NestedScope;
}

/** The name of a nested stack is that of its parent and of its resource. It has no id yet. */
export function childIdentity({ identity }: CompileInput, name: string): StackIdentity {
  return { stackName: `${identity.stackName}-${name}`, stackId: '', projectId: identity.projectId };
}
