/** Ad hoc actions: the input of the action that runs, and the result that the task gets. */
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import type { AdHocAction } from '@anneal/contracts/workflow.ts';
import { TaskFault, type WorkflowRun } from './run.ts';

/** The input of the base of the last action. @throws TaskFault for a wrong input or expression */
export function baseInput(run: WorkflowRun, through: readonly AdHocAction[], given: JsonObject): JsonObject {
  return through.reduce((input, action) => {
    const found = run.evaluateAlone(action.base_input, withDefaults(run, action, input), `${action.name}.base-input`);
    if (isObject(found)) return found;
    throw new TaskFault(`${action.name}.base-input: must be a map, not ${JSON.stringify(found).slice(0, 100)}`);
  }, given);
}

function withDefaults(run: WorkflowRun, { name, input }: AdHocAction, given: JsonObject): JsonObject {
  const known = new Set(input.map((each) => each.name));
  const unknown = Object.keys(given).filter((key) => !known.has(key));
  const missing = input.filter((each) => each.required && !Object.hasOwn(given, each.name)).map((each) => each.name);
  if (unknown.length + missing.length > 0) {
    const parts = [
      ...(unknown.length > 0 ? [`unknown: ${unknown.join(', ')}`] : []),
      ...(missing.length > 0 ? [`missing: ${missing.join(', ')}`] : []),
    ];
    throw new TaskFault(`input of the action ${name} (${parts.join('; ')})`);
  }
  const all: JsonObject = { ...given };
  for (const each of input) {
    if (!Object.hasOwn(all, each.name)) {
      all[each.name] = run.evaluateAlone(each.default, { ...all }, `${name}.input.${each.name}`);
    }
  }
  return all;
}

/** The result of a task from that of the action that ran. @throws TaskFault for a wrong expression */
export const resultThrough = (run: WorkflowRun, through: readonly AdHocAction[], result: Json): Json =>
  through.reduceRight(
    (value, { name, output, has_output: has }) => (has ? run.evaluateAlone(output, value, `${name}.output`) : value),
    result,
  );
