/** The declared inputs of a workflow or of an ad hoc action. */
import { isObject, type Json } from '@anneal/contracts/json.ts';
import type { WorkflowSpec } from '@anneal/contracts/workflow.ts';
import type { FieldPath, WorkflowReader } from './reader.ts';

/** Reads the inputs of a workflow or of an action. */
export function readInput(reader: WorkflowReader, value: Json | undefined, path: FieldPath): WorkflowSpec['input'] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) {
    reader.wrong(path, 'must be a list of names or of {name: default}', { found: value });
    return [];
  }
  return value.flatMap((item, index) => {
    if (typeof item === 'string') return { name: item, required: true, default: null };
    const entries = isObject(item) ? Object.entries(item) : [];
    const [first] = entries;
    if (!first || entries.length !== 1) {
      reader.wrong([...path, index], 'must be a name or a map with one key, {name: default}', { found: item });
      return [];
    }
    reader.expressions(first[1], [...path, index]);
    return { name: first[0], required: false, default: first[1] };
  });
}
