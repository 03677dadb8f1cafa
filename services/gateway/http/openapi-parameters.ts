/** The parameters of an operation in an OpenAPI document. Pure. */
import type { JsonObject } from '@anneal/contracts/json.ts';

interface ObjectSchema {
  properties?: Record<string, object>;
  required?: string[];
}

/** @param path with parameters in braces: `/hosts/{host}` */
export const pathParameters = (path: string): object[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));

/** @param schema of an object; each field is one parameter */
export function fieldParameters(schema: JsonObject, place: 'query' | 'header'): object[] {
  const { properties = {}, required }: ObjectSchema = schema;
  return Object.entries(properties).map(([name, field]) => ({
    name,
    in: place,
    required: required?.includes(name) ?? false,
    schema: field,
  }));
}
