/** A nested stack about to be compiled, be it of a template or of a group. */
import type { Mistake } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { PlanParameter } from '@anneal/contracts/plan.ts';
import type { Environment } from '../environment.ts';
import type { ParameterSchema } from '../parameter-schema.ts';
import type { StackIdentity } from '../pseudo.ts';
import type { NestedScope } from '../stack-scope.ts';
import type { Template } from '../template.ts';
import type { Body, StackInput } from '../tree.ts';

export interface Child {
  /** What mistakes in it are said to be in. */
  readonly file: string;
  readonly read: Template;
  readonly schemas: ReadonlyMap<string, ParameterSchema>;
  readonly parameters: JsonObject;
  readonly values: Record<string, PlanParameter>;
  readonly environment: Environment;
  readonly identity: StackIdentity;
  /** The name of a parameter that stands for all that is not known yet. */
  readonly open?: string;
  /** What is to be said of the mistakes in it. */
  report(mistakes: readonly Mistake[]): readonly Mistake[];
  /** What the stack around it sees once it is compiled. */
  show(body: Body): NestedScope;
}

export function childIdentity({ identity }: StackInput, name: string): StackIdentity {
  return { stackName: `${identity.stackName}-${name}`, stackId: '', projectId: identity.projectId };
}
