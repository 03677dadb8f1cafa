/** Resources inside a nested stack, as `get_attr` reads them. */

const prefix = 'resource.';

/**
 * Returns the resource, and its attribute if one follows: `resource.NAME.ATTRIBUTE` means the same as `[resource.NAME,
 * ATTRIBUTE]`. Undefined when the attribute belongs to the nested stack itself.
 */
export function readInside(
  attribute: string,
  has: (resource: string) => boolean,
): { readonly resource: string; readonly path: readonly string[] } | undefined {
  if (!attribute.startsWith(prefix)) return undefined;
  const written = attribute.slice(prefix.length);
  const dot = written.indexOf('.');
  // The name of a resource may contain dots.
  if (dot < 0 || has(written)) return { resource: written, path: [] };
  return { resource: written.slice(0, dot), path: [written.slice(dot + 1)] };
}
