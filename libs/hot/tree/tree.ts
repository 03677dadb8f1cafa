/** The tree of a stack and its nested stacks: input and result of compiling one of them. */
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { Plan, PlanParameter } from '@anneal/contracts/plan.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import type { Environment } from '../environment/environment.ts';
import type { Mistakes } from '../mistakes.ts';
import type { UsedSources } from './sources.ts';
import type { NestedTemplate, TemplateLibrary } from './library.ts';
import type { ParameterSchema } from '../parameters/parameter-schema.ts';
import type { StackIdentity } from '../parameters/pseudo.ts';
import type { Found } from '../environment/registry.ts';
import type { StackScope } from './stack-scope.ts';
import type { Template } from '../syntax/template.ts';
import type { EvaluationWork } from '../evaluate/work.ts';

/** Values that all stacks of a tree share. */
export interface TemplateTree {
  readonly library: TemplateLibrary;
  readonly types: ReadonlyMap<string, ResourceType>;
  readonly files: ReadonlyMap<string, string>;
  /**
   * `compiled`: nested stacks are compiled at every level. `described`: only one stack is compiled; its nested stacks
   * are compiled when they are created.
   */
  readonly nestedStacks: 'compiled' | 'described';
  /** Notes what the stack that is compiled reads of the files, the registry and the defaults. */
  readonly used: UsedSources;
  readonly maxResources: number;
  readonly maxDepth: number;
  readonly count: { resources: number };
  /** Work that compiling the tree may use. */
  readonly work: EvaluationWork;
}

/** One stack of the tree, ready to be compiled. */
export interface CompileInput {
  readonly read: Template;
  readonly schemas: ReadonlyMap<string, ParameterSchema>;
  readonly values: Record<string, PlanParameter>;
  readonly environment: Environment;
  readonly identity: StackIdentity;
  readonly scope: StackScope;
  readonly tree: TemplateTree;
  /** 0 for the root. */
  readonly depth: number;
  readonly mistakes: Mistakes;
}

/** One compiled stack. */
export interface Body {
  readonly plan: Plan;
  /** Result of each condition; null when it depends on a parameter without a value. */
  readonly conditions: JsonObject;
  /** The type of each resource as written in the template, before the registry maps it. */
  readonly writtenTypes: ReadonlyMap<string, string>;
  readonly types: ReadonlyMap<string, ResourceType>;
  /** Nested stacks by resource name; empty when they are only described. */
  readonly nested: ReadonlyMap<string, NestedStack>;
  readonly scope: StackScope;
  readonly schemas: ReadonlyMap<string, ParameterSchema>;
}

/** A compiled stack that a resource represents. */
export interface NestedStack {
  readonly file: string;
  readonly parameters: JsonObject;
  readonly body: Body;
}

/** The types and templates of the resources, by name. */
export interface ResolvedTypes {
  /** The type of each resource whose type is known, after following aliases. */
  readonly typeOf: ReadonlyMap<string, ResourceType>;
  /** The templates of the resources that are templates. */
  readonly templateOf: ReadonlyMap<string, NestedTemplate>;
  readonly foundOf: ReadonlyMap<string, Found>;
}
