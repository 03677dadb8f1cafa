/** The definition of a workflow from the properties of OS::Mistral::Workflow, whose keys have underscores. Pure. */
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';

/** Keys whose values are no keys of the language. */
const given = (map: JsonObject): [string, Json][] =>
  Object.entries(map).filter(([, value]) => value !== null && value !== undefined);

const hyphened = (map: JsonObject): JsonObject =>
  Object.fromEntries(given(map).map(([key, value]) => [key.replaceAll('_', '-'), value]));

/** The form that `workflowFrom` reads. The values of `input` are defaults; null is none. */
export function definitionFrom(properties: JsonObject): JsonObject {
  const { type, input, output, tags, description, task_defaults: defaults, tasks } = properties;
  const inputs = isObject(input) ? Object.entries(input) : [];
  const entries = (Array.isArray(tasks) ? tasks : []).filter(isObject).map((task) => {
    const { name, policies, ...rest } = task;
    // An old form: the policies as a map of their own. The keys of the task win.
    const older = isObject(policies) ? hyphened(policies) : {};
    return [typeof name === 'string' ? name : JSON.stringify(name), { ...older, ...hyphened(rest) }] as const;
  });
  return hyphened({
    type: type ?? null,
    description: description ?? null,
    tags: tags ?? null,
    input: inputs.map(([name, value]) => (value === null ? name : { [name]: value })),
    output: output ?? null,
    task_defaults: isObject(defaults) ? hyphened(defaults) : null,
    tasks: Object.fromEntries(entries),
  });
}
