/**
 * Compiles the nested stacks of a stack, templates and groups, in the order of their dependencies, so that later ones
 * can read the outputs of earlier ones.
 */
import type { Mistake } from '@anneal/contracts/errors.ts';
import type { Json } from '@anneal/contracts/json.ts';
import type { Expression, PlanParameter, PlanResource } from '@anneal/contracts/plan.ts';
import { evaluateParts } from '../evaluate.ts';
import { groupKind } from '../groups/kind.ts';
import { tooDeep } from '../limits.ts';
import { join, type MistakeDraft, Mistakes } from '../mistakes.ts';
import { levelsOf } from '../tree/order.ts';
import { StackScope } from '../tree/stack-scope.ts';
import type { Body, NestedStack, ResolvedTypes, CompileInput } from '../tree/tree.ts';
import { settledValue, unknown } from '../evaluate/unknown.ts';
import type { Child } from './child.ts';
import { groupChild } from './group.ts';
import { templateChild } from './template.ts';

interface Expansion extends ResolvedTypes {
  readonly resources: readonly PlanResource[];
  readonly stack: CompileInput;
  readonly compile: (input: CompileInput) => Body | undefined;
}

/** Compiles the nested stacks of a stack, by the name of their resource, so that their mistakes are reported now. */
export function expandNested(expansion: Expansion): Map<string, NestedStack> {
  const { resources, templateOf, typeOf } = expansion;
  const nested = new Map<string, NestedStack>();
  const isNested = ({ name }: PlanResource): boolean =>
    templateOf.has(name) || groupKind(typeOf.get(name)?.type ?? '') !== undefined;
  if (!resources.some(isNested)) return nested;
  const byName = new Map(resources.map((resource) => [resource.name, resource]));
  for (const name of levelsOf(resources).flat()) {
    const resource = byName.get(name);
    const child = resource && isNested(resource) && expand(resource, expansion);
    if (child) nested.set(name, child);
  }
  return nested;
}

function expand(resource: PlanResource, expansion: Expansion): NestedStack | undefined {
  const { stack, templateOf, typeOf, foundOf } = expansion;
  const { tree, depth, mistakes } = stack;
  const { name } = resource;
  const template = templateOf.get(name);
  if (depth >= tree.maxDepth) {
    const path = `resources.${name}`;
    const message = tooDeep(`${path}<${template?.file ?? name}>`, tree.maxDepth);
    mistakes.add({ code: 'TooDeep', message, path, at: resource.source });
    return undefined;
  }
  // The limit on the tree is already reported; do not compile what may expand to billions of resources.
  if (tree.maxResources >= 0 && tree.count.resources > tree.maxResources) return undefined;
  const inner = new Mistakes();
  const found = foundOf.get(name);
  const type = typeOf.get(name);
  let child: Child | undefined;
  if (template && found?.kind === 'template') child = templateChild({ resource, template, found, stack, inner });
  else if (type) child = groupChild({ resource, type, resources: expansion.resources, typeOf, stack, inner });
  if (!child) return undefined;
  const compiled = inner.any ? undefined : compileChild(resource, child, expansion, inner);
  for (const mistake of child.report(inner.all())) mistakes.add(draftOf(inside(mistake, name, child.file), resource));
  for (const warning of child.report(inner.warnings()))
    mistakes.warn(draftOf(inside(warning, name, child.file), resource));
  if (!compiled) return undefined;
  stack.scope.addNested(name, child.show(compiled));
  return { file: child.file, parameters: child.parameters, body: compiled };
}

function compileChild(
  resource: PlanResource,
  child: Child,
  { stack, compile }: Expansion,
  mistakes: Mistakes,
): Body | undefined {
  const { tree, depth, scope } = stack;
  const { read, schemas, values, environment, identity, open } = child;
  const childScope = new StackScope({
    version: read.version,
    declared: schemas,
    values,
    given: scope.givenInside(resource.name),
    strict: scope.strict,
    now: scope.now,
    work: scope.work,
    facade: {
      metadata: partOf(resource.metadata, scope),
      deletion_policy: resource.deletion_policy ?? 'Delete',
      update_policy: partOf(resource.update_policy, scope),
    },
  });
  const withOpen: Record<string, PlanParameter> = {
    ...values,
    ...(open !== undefined && { [open]: { type: 'json', value: null, hidden: false } }),
  };
  return compile({
    read,
    schemas,
    // The name is known but has no value, so an expression that reads it is unknown.
    values: withOpen,
    environment,
    identity,
    scope: childScope,
    tree,
    depth: depth + 1,
    mistakes,
  });
}

/** An absent part reads as an empty map; an unknown one stays open. */
function partOf(expression: Expression | undefined, scope: StackScope): Json | undefined {
  if (!expression) return {};
  const value = settledValue(evaluateParts(expression, scope));
  return value === unknown ? undefined : value;
}

function inside(mistake: Mistake, name: string, file: string): Mistake {
  const place = `resources.${name}<${file}>`;
  return { ...mistake, message: `${place}: ${mistake.message}`, path: join(place, mistake.path) };
}

/** A mistake without a position takes that of its resource. */
function draftOf({ line, column, file, ...mistake }: Mistake, resource: PlanResource): MistakeDraft {
  const at = line === undefined || column === undefined ? resource.source : { line, column, ...(file && { file }) };
  return { ...mistake, at };
}
