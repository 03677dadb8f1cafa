/** MAC addresses: the one reader of the addresses that people, templates, BMCs and hosts write. Pure. */

/** Six groups of digits, three, two, or all digits together: the ways that the Python library netaddr reads. */
const forms = [
  { form: /^[0-9a-f]{1,2}(?:([:-])[0-9a-f]{1,2}(?:\1[0-9a-f]{1,2}){4})$/i, width: 2 },
  { form: /^[0-9a-f]{1,4}([.:-])[0-9a-f]{1,4}\1[0-9a-f]{1,4}$/i, width: 4 },
  { form: /^[0-9a-f]{5,6}[:-][0-9a-f]{5,6}$/i, width: 6 },
  { form: /^[0-9a-f]{11,12}$/i, width: 12 },
] as const;

/** The address in lower case with colons, whichever of the usual forms it has. Undefined for a text that is none. */
export function macForm(text: string): string | undefined {
  const found = forms.find(({ form }) => form.test(text));
  if (!found) return undefined;
  const groups = text.toLowerCase().split(/[:.-]/);
  const digits = groups.map((group) => group.padStart(found.width, '0')).join('');
  return digits.match(/../g)?.join(':');
}

const expected = 'expected the MAC address of an interface, as 52:54:00:12:34:56';

/**
 * Why a text is not the address of a network interface. Undefined for a unicast address of 6 octets. An interface cannot
 * have zeros, a multicast or the broadcast address, so they say nothing about a machine. Leaves out the text, which may be
 * a hidden parameter.
 */
export function macProblem(text: string): string | undefined {
  const mac = macForm(text.trim());
  if (mac === undefined) return `${expected}; ${wrongForm(text.trim())}`;
  if (mac === '00:00:00:00:00:00') return `${expected}; this one is all zeros`;
  if (mac === 'ff:ff:ff:ff:ff:ff') return `${expected}; this one is the broadcast address`;
  const isMulticast = Number.parseInt(mac.slice(0, 2), 16) % 2 === 1;
  return isMulticast ? `${expected}; this one is a multicast address` : undefined;
}

/** Fibre Channel and InfiniBand have addresses of 8 and 20 octets. */
function wrongForm(text: string): string {
  const digits = text.replaceAll(/[:.-]/g, '');
  const octets = digits.length / 2;
  const isAddress = /^(?:[0-9a-f]{2})+$/i.test(digits) && octets !== 6;
  return isAddress ? `this one has ${octets} octets instead of 6` : 'this text has another form';
}

/** The address of a network interface in its one form, or undefined: {@link macProblem} has the reason. */
export const readMac = (text: string): string | undefined =>
  macProblem(text) === undefined ? macForm(text.trim()) : undefined;
