/** The tree of a stack and the stacks nested in it: what compiling one of them takes and gives. */
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { Plan, PlanParameter } from '@anneal/contracts/plan.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import type { Environment } from './environment.ts';
import type { Mistakes } from './mistakes.ts';
import type { Digests } from './nested/digest.ts';
import type { NestedTemplate, TemplateLibrary } from './nested/library.ts';
import type { ParameterSchema } from './parameter-schema.ts';
import type { StackIdentity } from './pseudo.ts';
import type { Found } from './registry.ts';
import type { StackScope } from './stack-scope.ts';
import type { Template } from './template.ts';
import type { Work } from './work.ts';

/** What all stacks of a tree share. */
export interface Tree {
  readonly library: TemplateLibrary;
  readonly types: ReadonlyMap<string, ResourceType>;
  readonly files: ReadonlyMap<string, string>;
  /** `compiled`: all the way down. `described`: one stack of a tree is compiled; those in it follow when they are made. */
  readonly nestedStacks: 'compiled' | 'described';
  readonly digests: Digests;
  readonly maxResources: number;
  readonly maxDepth: number;
  readonly count: { resources: number };
  /** What all of it may cost. */
  readonly work: Work;
}

export interface StackInput {
  readonly read: Template;
  readonly schemas: ReadonlyMap<string, ParameterSchema>;
  readonly values: Record<string, PlanParameter>;
  readonly environment: Environment;
  readonly identity: StackIdentity;
  readonly scope: StackScope;
  readonly tree: Tree;
  /** Of the root 0. */
  readonly depth: number;
  readonly mistakes: Mistakes;
}

export interface Body {
  readonly plan: Plan;
  /** What each condition came to; null where a parameter without a value decides. */
  readonly conditions: JsonObject;
  /** The type of each resource as the template has it, before the registry. */
  readonly writtenTypes: ReadonlyMap<string, string>;
  readonly types: ReadonlyMap<string, ResourceType>;
  /** By the name of the resource; empty where they are only described. */
  readonly nested: ReadonlyMap<string, NestedStack>;
  readonly scope: StackScope;
  readonly schemas: ReadonlyMap<string, ParameterSchema>;
}

export interface NestedStack {
  readonly file: string;
  readonly parameters: JsonObject;
  readonly body: Body;
}

export interface ResolvedTypes {
  /** The type of each resource, aliases followed, for those whose type is known. */
  readonly typeOf: ReadonlyMap<string, ResourceType>;
  /** Of the resources that are templates. */
  readonly templateOf: ReadonlyMap<string, NestedTemplate>;
  readonly foundOf: ReadonlyMap<string, Found>;
}
