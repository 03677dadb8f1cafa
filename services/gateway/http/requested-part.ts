/** A request for a part of a file (`Range`), as BMCs and interrupted downloads send it. Pure. */
/** The one range of the header. Undefined for the whole file, also when several ranges are asked for. */
export function requestedPart(
  header: string | undefined,
  size: number,
): { start: number; end: number } | 'unsatisfiable' | undefined {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '') ?? [];
  if (first === '' && last === '') return undefined;
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === '' || last === '' ? size : Math.min(size, Number(last) + 1);
  return start < end ? { start, end } : 'unsatisfiable';
}
