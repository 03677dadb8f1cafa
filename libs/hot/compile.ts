/**
 * A template, its environments and files to a plan, or to every mistake in them. Pure, and never throws: what is wrong
 * with the input is in the answer. Time is linear in the size of the input.
 */
import type { Mistake } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { Plan, PlanParameter } from '@anneal/contracts/plan.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import type { EnvironmentDocument } from './environment.ts';
import { type Front, readFront } from './front.ts';
import { Mistakes } from './mistakes.ts';
import { toJson } from './node.ts';
import { compileStack } from './stack.ts';
import { StackScope } from './stack-scope.ts';
import type { Body } from './tree.ts';

export interface CompileParameters {
  readonly template: string | JsonObject;
  /** Merged in order; later ones win. */
  readonly environments?: readonly (string | JsonObject | EnvironmentDocument)[];
  readonly files?: Readonly<Record<string, string>>;
  /** Given for this stack; they win over those of the environments. */
  readonly parameters?: JsonObject;
  readonly stackName: string;
  /** Empty while the stack is not stored. */
  readonly stackId: string;
  readonly projectId: string;
  readonly types: readonly ResourceType[];
  /** Of the plan before, hidden ones opened: immutable parameters are compared with them. */
  readonly previousParameters?: Readonly<Record<string, PlanParameter>>;
  /** In the stack and all that are nested in it. Default 1000; -1 is no limit. */
  readonly maxResources?: number;
  /** Names of stored parameters that the template may have lost since (PATCH); they are dropped in silence. */
  readonly droppable?: ReadonlySet<string>;
  /**
   * What becomes of a resource that is a template. Default `refused`: the engine does not run nested stacks yet, and to
   * say so beats a stack that stands still. Without an engine (render, plan) they are `compiled`. The one switch.
   */
  readonly nestedStacks?: 'refused' | 'compiled';
}

export type Compiled =
  /** `environment` is the merged one, `template` the template as an object. */
  | { readonly plan: Plan; readonly environment: JsonObject; readonly template: JsonObject }
  | { readonly mistakes: Mistake[] };

export function compile(parameters: CompileParameters): Compiled {
  const mistakes = new Mistakes();
  const front = readFront({ ...parameters, mistakes, missingAllowed: false });
  const body = front && compileBody({ ...parameters, front, mistakes });
  if (mistakes.any || !front || !body) return { mistakes: mistakes.all() };
  const template = toJson(front.read.source) as JsonObject;
  return { plan: body.plan, environment: front.environment.merged, template };
}

/** The root stack and, where they are compiled, all that are nested in it. */
export function compileBody(
  options: CompileParameters & { front: Front; mistakes: Mistakes; attributes?: JsonObject },
): Body | undefined {
  const { front, mistakes, attributes, maxResources = 1000, nestedStacks = 'refused' } = options;
  const { read, schemas, values, environment, library } = front;
  return compileStack({
    read,
    schemas,
    values,
    environment,
    mistakes,
    identity: options,
    scope: new StackScope({ version: read.version, values, ...(attributes && { given: attributes }) }),
    depth: 0,
    tree: {
      library,
      nestedStacks,
      maxResources,
      files: new Map(Object.entries(options.files ?? {})),
      types: new Map(options.types.map((type) => [type.type, type])),
      count: { resources: 0 },
    },
  });
}
