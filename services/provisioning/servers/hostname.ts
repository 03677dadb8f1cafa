/** Derives the name of a host from the name of its server. Pure. */

/**
 * A DNS label (RFC 1123): letters, digits and inner hyphens, at most 63. Keeps the end, where physical names differ.
 */
export function hostnameOf(name: string, fallback: string): string {
  return label(name) || label(fallback) || 'host';
}

const label = (text: string): string =>
  text
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .replace(/^-+/, '')
    .slice(-63)
    .replace(/^-+|-+$/g, '');
