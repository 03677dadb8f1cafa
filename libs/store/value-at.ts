/** The value in a document at the path of an index; undefined or null when there is none. */
export function valueAt(document: object, field: string): unknown {
  let value: unknown = document;
  for (const name of field.split('.')) {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, name)) return null;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}
