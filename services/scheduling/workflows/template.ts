/** The definition of a workflow from the properties of OS::Mistral::Workflow, whose keys have underscores. Pure. */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import { isObject, storedProperty, type Json, type JsonObject, type SealableObject } from '@anneal/contracts/json.ts';
import { hasExpression } from '@anneal/hot/workflow/expression.ts';
import { openProperty, sealLeaves } from '@anneal/runtime/secrets/open.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';

/** Values that the tasks pass on. They stay sealed, but for expressions, because an expression must be evaluated. */
const passedOn = ['input', 'publish', 'publish_on_error', 'publish_on_skip'];

const isExpression = (leaf: Json): boolean => hasExpression(leaf);

/** The values, with readable names and expressions. */
export const passable = (secrets: Secrets, value: Json | undefined): Json =>
  sealLeaves(secrets, value ?? null, isExpression);

/** A task: its keys are open, because the engine reads them; the values that it passes on stay sealed. */
function openTask(secrets: Secrets, task: JsonObject): JsonObject {
  const passed = passedOn.flatMap((name): [string, Json][] => {
    const value = task[name];
    return value === undefined ? [] : [[name, passable(secrets, value)]];
  });
  return { ...secrets.open(task), ...toRecord(passed) };
}

/** Keys whose values are no keys of the language. */
const given = (map: JsonObject): [string, Json][] =>
  Object.entries(map).filter(([, value]) => value !== null && value !== undefined);

const hyphened = (map: JsonObject): JsonObject =>
  toRecord(given(map).map(([key, value]) => [key.replaceAll('_', '-'), value]));

/** The form that `workflowFrom` reads. The values of `input` are defaults; null is none. */
export function definitionFrom(secrets: Secrets, properties: SealableObject): JsonObject {
  const [type, tags, description, defaults] = ['type', 'tags', 'description', 'task_defaults'].map((name) =>
    openProperty(secrets, properties, name),
  );
  const [input, output, tasks] = ['input', 'output', 'tasks'].map((name) =>
    passable(secrets, storedProperty(properties, name)),
  );
  const inputs = isObject(input) ? Object.entries(input) : [];
  const entries = (Array.isArray(tasks) ? tasks : []).filter(isObject).map((task) => {
    const { name, policies, ...rest } = openTask(secrets, task);
    // An old form: the policies as a map of their own. The keys of the task win.
    const older = isObject(policies) ? hyphened(policies) : {};
    return [typeof name === 'string' ? name : JSON.stringify(name), { ...older, ...hyphened(rest) }] as const;
  });
  return hyphened({
    type: type ?? null,
    description: description ?? null,
    tags: tags ?? null,
    input: inputs.map(([name, value]) => (secrets.open<Json>(value) === null ? name : { [name]: value })),
    output: output ?? null,
    task_defaults: isObject(defaults) ? hyphened(defaults) : null,
    tasks: toRecord(entries),
  });
}
