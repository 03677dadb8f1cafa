/** `<stack>-<resource>-<12 lower-case base32 characters of the id>`: a name for a physical object, chosen before it exists. */
const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';

/** `limit`: the most characters of the name, 16 or more. */
export function physicalName(parameters: { stack: string; resource: string; id: string; limit: number }): string {
  const name = `${parameters.stack}-${parameters.resource}-${shortId(parameters.id)}`;
  const { limit } = parameters;
  // Cut from the middle, because the tail distinguishes incarnations.
  return name.length <= limit ? name : `${name.slice(0, 2)}-${name.slice(name.length - limit + 3)}`;
}

function shortId(id: string): string {
  // The last 60 bits: the first bits of a UUIDv7 are a clock, so ids made together share them.
  const digits = id
    .replace(/[^0-9a-f]/gi, '')
    .slice(-15)
    .padStart(15, '0');
  let text = '';
  for (let start = 0; start < 15; start += 5) {
    const bits = Number.parseInt(digits.slice(start, start + 5), 16);
    for (let shift = 15; shift >= 0; shift -= 5) text += alphabet[(bits >> shift) & 31];
  }
  return text;
}
