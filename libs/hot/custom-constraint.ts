/**
 * The named validators that need no cloud. Those of a service (`nova.flavor`, `glance.image`) count as satisfied: whether
 * such a thing exists is for its provider to say, when it is asked to use it.
 */
import type { Json } from '@anneal/contracts/json.ts';

const isIPv4 = (text: string): boolean =>
  /^\d{1,3}(?:\.\d{1,3}){3}$/.test(text) && text.split('.').every((part) => Number(part) <= 255 && !/^0\d/.test(part));

/** Eight groups, of which one run may be written `::`; the last two may be an IPv4 address. */
function isIPv6(text: string): boolean {
  const tail = text.slice(text.lastIndexOf(':') + 1);
  if (tail.includes('.') && !isIPv4(tail)) return false;
  const plain = tail.includes('.') ? `${text.slice(0, -tail.length)}0:0` : text;
  const halves = plain.split('::');
  if (halves.length > 2) return false;
  const groups = halves.flatMap((half) => (half === '' ? [] : half.split(':')));
  if (!groups.every((group) => /^[0-9A-Fa-f]{1,4}$/.test(group))) return false;
  return halves.length === 2 ? groups.length <= 7 : groups.length === 8;
}
const isIP = (text: string): boolean => isIPv4(text) || isIPv6(text);

type Validator = (value: string) => string | undefined;

const label = /^(?!-)[A-Za-z0-9-]{1,63}(?<!-)$/;
const dnsName = (value: string): string | undefined => {
  const labels = value.replace(/\.$/, '').split('.');
  if (value.length > 255) return `'${value}' exceeds the 255 character FQDN limit`;
  return labels.every((part) => label.test(part))
    ? undefined
    : `'${value}' not in valid format. Reason: a label is not valid`;
};

function isCidr(value: string): boolean {
  const [address = '', prefix = '', ...rest] = value.split('/');
  if (rest.length > 0 || !/^\d{1,3}$/.test(prefix)) return false;
  return (isIPv4(address) && Number(prefix) <= 32) || (isIPv6(address) && Number(prefix) <= 128);
}

const cronField =
  /^(?:\*|[0-9A-Za-z]+(?:-[0-9A-Za-z]+)?)(?:\/\d+)?(?:,(?:\*|[0-9A-Za-z]+(?:-[0-9A-Za-z]+)?)(?:\/\d+)?)*$/;
const isoDate = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/;

const validators: Record<string, Validator> = {
  ip_addr: (value) => (isIP(value) ? undefined : `Invalid IP address: ${value}`),
  net_cidr: (value) => (isCidr(value) ? undefined : `Invalid net cidr ${value}`),
  ip_or_cidr: (value) => (isIP(value) || isCidr(value) ? undefined : `Invalid IP address or net cidr ${value}`),
  mac_addr: (value) =>
    /^[0-9A-Fa-f]{2}(?:[:-][0-9A-Fa-f]{2}){5}$/.test(value) ? undefined : `Invalid MAC address ${value}`,
  dns_name: dnsName,
  rel_dns_name: (value) => (value.endsWith('.') ? `'${value}' must not end with a dot` : dnsName(value)),
  dns_domain: (value) => (value.endsWith('.') ? dnsName(value) : `'${value}' must end with '.'`),
  cron_expression: (value) => {
    const fields = value.trim().split(/\s+/);
    return fields.length === 5 && fields.every((field) => cronField.test(field))
      ? undefined
      : `Invalid CRON expression: ${value}`;
  },
  iso_8601: (value) =>
    isoDate.test(value) && !Number.isNaN(Date.parse(value)) ? undefined : `Invalid ISO 8601 time: ${value}`,
  expiration: (value) => (isoDate.test(value) ? undefined : `Expiration ${value} is not in the ISO 8601 form`),
  timezone: (value) => {
    try {
      Intl.DateTimeFormat('en', { timeZone: value });
      return undefined;
    } catch {
      return `Invalid timezone: '${value}'`;
    }
  },
  test_constr: () => undefined,
};

export function checkCustom(name: string, value: Json): string | undefined {
  if (value === null) return undefined;
  if (!Object.hasOwn(validators, name)) {
    return /^[a-z_]+\.[a-z0-9_.]+$/.test(name)
      ? undefined
      : `"${JSON.stringify(value)}" does not validate ${name} (constraint not found)`;
  }
  for (const item of Array.isArray(value) ? value : [value]) {
    const problem = validators[name]?.(typeof item === 'string' ? item : JSON.stringify(item));
    if (problem !== undefined) return `${JSON.stringify(item)} does not validate ${name} (${problem})`;
  }
  return undefined;
}
