/** The name of a host, out of whatever the server is called. Pure. */

/** A DNS label (RFC 1123): letters, digits and inner hyphens, at most 63. The end is kept: physical names differ there. */
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
