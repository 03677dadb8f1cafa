/**
 * Replacement fields in the arguments of inspection rules, as of Python's `format`: `{inventory[cpu][count]}`, `{node.name}`,
 * `{item}`. Pure.
 *
 * A text that is one field and nothing else becomes the value itself, so that numbers remain numbers. A text with a field
 * that does not exist stays as it is.
 */
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';

const field = /\{\{|\}\}|\{([a-z_]+)((?:\.[A-Za-z0-9_-]+|\[[^\]{}]+\])*)\}/g;

export function interpolated(value: Json, context: JsonObject): Json {
  if (typeof value === 'string') return inText(value, context);
  if (Array.isArray(value)) return value.map((each) => interpolated(each, context));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [fieldText(inText(key, context)), interpolated(each, context)]),
  );
}

function inText(text: string, context: JsonObject): Json {
  const whole = text.match(field);
  if (whole?.length === 1 && whole[0] === text && text !== '{{' && text !== '}}') {
    const found = valueAt(text, context);
    return found === undefined ? text : found;
  }
  let isMissing = false;
  const result = text.replaceAll(field, (found) => {
    if (found === '{{' || found === '}}') return found.slice(1);
    const value = valueAt(found, context);
    isMissing ||= value === undefined;
    return value === undefined ? found : fieldText(value);
  });
  return isMissing ? text : result;
}

function valueAt(text: string, context: JsonObject): Json | undefined {
  const parts = text
    .slice(1, -1)
    .split(/[.[\]]+/)
    .filter((part) => part !== '');
  let value: Json | undefined = context;
  for (const part of parts) {
    if (Array.isArray(value)) value = /^\d+$/.test(part) ? value[Number(part)] : undefined;
    else value = isObject(value) && Object.hasOwn(value, part) ? value[part] : undefined;
  }
  return value;
}

/** How Python writes a value into a text, for the values that rules compare. */
export function fieldText(value: Json): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
