/**
 * Writes into the plan of a nested stack the parts that it reads of the resource that it implements. They are known at
 * compile time, so running the plan needs nothing from outside, and a change of a part changes the plan. A secret part
 * becomes a hidden parameter.
 */
import type { Expression, Plan, PlanParameter, PlanResource } from '@anneal/contracts/plan.ts';
import { toRecord } from '@anneal/python/yaml/node.ts';
import type { FacadeParts } from '../tree/stack-scope.ts';

type Part = keyof FacadeParts;

const parts: ReadonlyMap<string, Part> = new Map([
  ['resource_facade metadata', 'metadata'],
  ['resource_facade deletion_policy', 'deletion_policy'],
  ['resource_facade update_policy', 'update_policy'],
  ['Fn::ResourceFacade Metadata', 'metadata'],
  ['Fn::ResourceFacade DeletionPolicy', 'deletion_policy'],
  ['Fn::ResourceFacade UpdatePolicy', 'update_policy'],
]);

/** The plan of a nested stack without `resource_facade`: each use has become a value or a hidden parameter. */
export function foldFacade(plan: Plan, facade: FacadeParts, hidden: ReadonlySet<string>): Plan {
  const parameters = new Map<string, PlanParameter>();
  const fold = (expression: Expression): Expression => {
    switch (expression.kind) {
      case 'literal':
        return expression;
      case 'list':
        return { ...expression, items: expression.items.map(fold) };
      case 'map':
        return { ...expression, entries: expression.entries.map(({ key, value }) => ({ key, value: fold(value) })) };
      case 'call': {
        const { function: name, arguments: argument } = expression;
        const asked = argument.kind === 'literal' && typeof argument.value === 'string' ? argument.value : '';
        const part = parts.get(`${name} ${asked}`);
        const value = part && facade[part];
        if (!part || value === undefined) return { ...expression, arguments: fold(argument) };
        if (!hidden.has(part)) return { kind: 'literal', value };
        const parameter = `OS::facade_${part}`;
        parameters.set(parameter, { type: 'json', value, hidden: true });
        return { kind: 'call', function: 'get_param', arguments: { kind: 'literal', value: parameter } };
      }
    }
  };
  const folded = (resource: PlanResource): PlanResource => ({
    ...resource,
    properties: toRecord(Object.entries(resource.properties).map(([name, value]) => [name, fold(value)])),
    ...(resource.metadata && { metadata: fold(resource.metadata) }),
    ...(resource.update_policy && { update_policy: fold(resource.update_policy) }),
  });
  const resources = toRecord(Object.entries(plan.resources).map(([name, resource]) => [name, folded(resource)]));
  const outputs = toRecord(
    Object.entries(plan.outputs).map(([name, output]) => [name, { ...output, value: fold(output.value) }]),
  );
  return { ...plan, resources, outputs, parameters: { ...plan.parameters, ...toRecord(parameters) } };
}
