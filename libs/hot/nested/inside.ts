/** What `get_attr` reads of a resource inside a nested stack. */

const prefix = 'resource.';

/**
 * The resource, and its attribute if one is written behind it: `resource.NAME.ATTRIBUTE` reads like
 * `[resource.NAME, ATTRIBUTE]`. Undefined: the attribute is one of the nested stack itself.
 */
export function readInside(
  attribute: string,
  has: (resource: string) => boolean,
): { readonly resource: string; readonly path: readonly string[] } | undefined {
  if (!attribute.startsWith(prefix)) return undefined;
  const written = attribute.slice(prefix.length);
  const dot = written.indexOf('.');
  // A resource may have dots in its own name.
  if (dot < 0 || has(written)) return { resource: written, path: [] };
  return { resource: written.slice(0, dot), path: [written.slice(dot + 1)] };
}
