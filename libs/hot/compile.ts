/**
 * Compiles a template, its environments and files to a plan, or reports every mistake in them. It is pure. It returns
 * mistakes in the input, and throws only when the work is to be abandoned. Time is linear in the size of the input and
 * the work allowed.
 */
import type { Mistake } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { Plan } from '@anneal/contracts/plan.ts';
import type { Environment } from './environment/environment.ts';
import { type Front, readFront } from './tree/prepare.ts';
import { defaultDepth, defaultResources } from './limits.ts';
import { Mistakes } from './mistakes.ts';
import { UsedSources } from './tree/sources.ts';
import { templateJson } from './syntax/template.ts';
import { compileStack } from './compile/stack.ts';
import { StackScope } from './tree/stack-scope.ts';
import type { Body } from './tree/tree.ts';
import { withinWork, EvaluationWork } from './evaluate/work.ts';
import type { CompileParameters } from './tree/compile-parameters.ts';

/** A plan, or every mistake that was found. */
export type CompileResult =
  | {
      readonly plan: Plan;
      /** The merged environment. */
      readonly environment: JsonObject;
      /** The template as an object. */
      readonly template: JsonObject;
      /** Parameters hidden by any template among the files: the environment may hold their defaults. */
      readonly hiddenInside: ReadonlySet<string>;
      /** Places that are valid but probably not intended. */
      readonly warnings: Mistake[];
    }
  | { readonly mistakes: Mistake[] };

/** Compiles a stack with all stacks nested in it. @throws Abandoned when the budget is spent and set to abandon */
export function compile({ limits, work = new EvaluationWork(limits), ...options }: CompileParameters): CompileResult {
  const parameters = { ...options, work };
  const mistakes = new Mistakes();
  const compiled = withinWork(mistakes, () => {
    const front = readFront({ ...parameters, mistakes, missingAllowed: false });
    const body = front && compileBody({ ...parameters, front, mistakes });
    if (!front || !body) return undefined;
    const hiddenInside = hasDefaults(front.environment) ? front.library.hiddenParameters(work) : new Set<string>();
    const { eventSinks } = front.environment;
    return {
      plan: eventSinks.length > 0 ? { ...body.plan, event_sinks: [...eventSinks] } : body.plan,
      environment: front.environment.merged,
      // A template that came as an object is exact already.
      template: typeof options.template === 'string' ? templateJson(front.read) : options.template,
      hiddenInside,
      warnings: mistakes.warnings(),
    };
  });
  return compiled && !mistakes.any ? compiled : { mistakes: mistakes.all() };
}

/** True when an environment gives defaults, which may be hidden. */
export const hasDefaults = ({ defaults }: Environment): boolean => defaults.size > 0;

/** Compiles the root stack and all stacks nested in it. */
export function compileBody(
  options: CompileParameters & { front: Front; mistakes: Mistakes; work: EvaluationWork; attributes?: JsonObject },
): Body | undefined {
  const { front, mistakes, attributes, maxResources = defaultResources, maxDepth = defaultDepth } = options;
  const { read, schemas, values, environment, library } = front;
  const files = new Map(Object.entries(options.files ?? {}));
  const types = new Map(options.types.map((type) => [type.type, type]));
  return compileStack({
    read,
    schemas,
    values,
    environment,
    mistakes,
    identity: options,
    scope: new StackScope({
      version: read.version,
      declared: schemas,
      values,
      strict: options.strict,
      now: options.now,
      work: options.work,
      ...(attributes && { given: attributes }),
    }),
    depth: 0,
    tree: {
      library,
      nestedStacks: 'compiled',
      maxResources,
      maxDepth,
      files,
      types,
      work: options.work,
      used: new UsedSources(),
      count: { resources: 0 },
    },
  });
}
