/** The values that the expressions of a plan can read: the parameters, and the resources of the stack. Opens secrets. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { ResourceDocument, StackDocument } from '@anneal/convergence/documents.ts';
import { walk } from '@anneal/hot/evaluate/attribute-path.ts';
import type { Scope } from '@anneal/hot/evaluate.ts';
import type { EvaluationWork } from '@anneal/hot/evaluate/work.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { Evaluated } from './bounds.ts';
import { nestedReference } from './reference.ts';
import { findRead, withoutReads } from './reads.ts';
import type { Sealing } from './sealing.ts';
import type { TypeDefinitions } from './types.ts';

export interface ScopeTools {
  readonly secrets: Secrets;
  readonly types: TypeDefinitions;
  readonly readsSecret: Sealing['readsSecret'];
}

/** The value of `get_resource` for the resource in a stack of the project; a secret stays sealed. */
export function referenceTo({ types }: Pick<ScopeTools, 'types'>, resource: ResourceDocument, project: string): Json {
  const attribute = types.servedBy(resource)?.reference;
  const value = attribute === undefined ? undefined : resource.attributes[attribute];
  return value ?? nestedReference(resource, project) ?? resource.physical_id ?? resource.name;
}

export function scopeOf(reads: ScopeTools, { plan, stack, peer }: Evaluated, work: EvaluationWork): Scope {
  const { secrets } = reads;
  return {
    templateVersion: plan.template_version,
    work,
    isHidden: (expression) => reads.readsSecret(expression, { plan, peer }),
    parameter(name) {
      const found = Object.hasOwn(plan.parameters, name) ? plan.parameters[name] : undefined;
      return found ? secrets.open(found.value) : pseudoParameter(name, stack);
    },
    reference(name) {
      const resource = peer(name);
      return resource && secrets.open<Json>(referenceTo(reads, resource, stack.project));
    },
    attribute(name) {
      const resource = peer(name);
      return resource && (secrets.open<Json>(withoutReads(resource)) as JsonObject);
    },
    read(name, attribute, path) {
      const resource = peer(name);
      const found = resource && findRead(resource, [attribute, ...path]);
      if (found?.problem !== undefined) throw unreadable(found.problem, `resources.${name}`);
      return found && walk(secrets.open(found.value), found.rest);
    },
  };
}

const unreadable = (message: string, path: string): AnnealError =>
  new AnnealError('NotFound', message, { mistakes: [{ code: 'UnknownAttribute', message, path }] });

function pseudoParameter(name: string, stack: StackDocument): Json | undefined {
  const values: Readonly<Record<string, string>> = {
    'OS::stack_id': stack.id,
    'OS::stack_name': stack.name,
    'OS::project_id': stack.project,
  };
  return Object.hasOwn(values, name) ? values[name] : undefined;
}
