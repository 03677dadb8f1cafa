/** Checks the properties and the update policy of a resource against its type. */
import type { Expression, PlanResource, PlanSource } from '@anneal/contracts/plan.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { join, nearestName } from '../mistakes.ts';
import { type MappingEntry, isPlainObject, toRecord } from '@anneal/python/yaml/node.ts';
import { type PropertyMistake, resolveProperties } from './properties.ts';
import { warnOfScripts } from './script-texts.ts';
import type { ResourceContext, WrittenResource } from './resource-context.ts';
import { updatePolicies } from '../types/update-policy.ts';

/** Only types that support partial updates declare an update policy; the others have none. */
export function checkUpdatePolicy(
  written: WrittenResource,
  { resource, type, policy }: { resource: PlanResource; type: ResourceType; policy: Expression },
  { scope, mistakes, templateOf }: ResourceContext,
): void {
  if (type.open_properties || templateOf.has(written.name)) return;
  const schema = Object.hasOwn(updatePolicies, type.type) ? updatePolicies[type.type] : undefined;
  if (policy.kind === 'call') {
    mistakes.add({
      code: 'WrongType',
      message: `Resource ${written.name} update_policy must be written out`,
      path: join(written.path, 'update_policy'),
      at: written.node.entries.get('update_policy')?.at ?? written.at,
    });
    return;
  }
  const entries = policy.kind === 'map' ? policy.entries.map(({ key, value }) => [key, value] as const) : [];
  const literals = policy.kind === 'literal' && isPlainObject(policy.value) ? Object.entries(policy.value) : [];
  const properties = toRecord<Expression>([
    ...entries,
    ...literals.map(([key, value]) => [key, { kind: 'literal', value }] as const),
  ]);
  const policyType = { type: type.type, properties: { ...schema }, attributes: {} };
  const resolved = resolveProperties({
    resource: { ...resource, properties },
    type: policyType,
    scope,
    section: 'update_policy',
  });
  for (const { steps, ...mistake } of resolved.mistakes) {
    mistakes.add({ ...mistake, at: locate(written, { code: mistake.code, steps, section: 'update_policy' }) });
  }
}

/** Checks the values that are already known. The rest is checked when it becomes known. */
export function checkProperties(
  written: WrittenResource,
  { resource, type, broken }: { resource: PlanResource; type: ResourceType; broken: ReadonlySet<string> },
  { scope, enabled, templateOf, mistakes }: ResourceContext,
): void {
  const resolved = resolveProperties({
    resource,
    type,
    scope,
    siblings: enabled,
    isTemplate: templateOf.has(written.name),
  });
  if (!templateOf.has(written.name)) {
    const at = (steps: PropertyMistake['steps']) =>
      locate(written, { code: 'ScriptText', steps, section: 'properties' });
    warnOfScripts(written, { resource, type, resolved }, { mistakes, locate: at });
  }
  for (const { steps, ...mistake } of resolved.mistakes) {
    // A property that did not compile is already reported; do not also report it as missing.
    if (mistake.code === 'ConstraintBroken' && steps.length === 0 && broken.size > 0) continue;
    if (
      mistake.code === 'MissingProperty' &&
      steps.length === 0 &&
      [...broken].some((name) => name === '*' || mistake.message.endsWith(`: Property ${name} not assigned`))
    )
      continue;
    mistakes.add({ ...mistake, at: locate(written, { code: mistake.code, steps, section: 'properties' }) });
  }
  for (const name of broken) {
    if (name !== '*' && !type.open_properties && !Object.hasOwn(type.properties, name)) {
      const at = locate(written, { code: 'UnknownProperty', steps: [name], section: 'properties' });
      const path = `${written.path}.properties.${name}`;
      mistakes.add({
        code: 'UnknownProperty',
        message: `Property error: ${path}: Unknown Property ${name}`,
        path,
        at,
        found: name,
        nearest: nearestName(name, Object.keys(type.properties)),
      });
    }
  }
}

/** Finds the position of a property in the text: of the key when the name is wrong, of the value when the value is. */
function locate(
  written: WrittenResource,
  { code, steps, section }: { code: string; steps: PropertyMistake['steps']; section: string },
): PlanSource | undefined {
  const properties = written.node.entries.get(section);
  let at = properties?.at ?? written.at;
  let node = properties?.value;
  for (const [index, step] of steps.entries()) {
    const isLast = index === steps.length - 1;
    if (node?.kind === 'map') {
      const entry: MappingEntry | undefined = node.entries.get(String(step));
      if (!entry) return at;
      at = (isLast && code === 'UnknownProperty' ? entry.at : entry.value.at) ?? entry.at ?? at;
      node = entry.value;
    } else if (node?.kind === 'list' && typeof step === 'number') {
      node = node.items[step];
      at = node?.at ?? at;
    } else return at;
  }
  return at;
}
