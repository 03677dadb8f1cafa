/** Writes the value of a parameter as text, as every reader of a stack sees it. */
import type { Json } from '@anneal/contracts/json.ts';
import { jsonText, pythonText } from '@anneal/python/values/compare.ts';
import type { ParameterType } from './parameter-value.ts';

/** As Heat does: JSON as Python writes it, the items of a list with commas between them, `True` and `False`. */
export function parameterText(type: ParameterType, value: Json): string {
  if (type === 'json') return jsonText(value, { sorted: false });
  if (Array.isArray(value)) return value.map(pythonText).join(',');
  return value === null ? '' : pythonText(value);
}
