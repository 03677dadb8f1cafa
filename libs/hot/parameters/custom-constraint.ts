/**
 * The named constraints of Heat. Those of a service (`nova.flavor`, `glance.image`) count as satisfied, because only the
 * provider of the resource can say whether such an object exists. It does so when it gets a request.
 */
import type { Json } from '@anneal/contracts/json.ts';
import { Reason, stated, why } from '../evaluate/reason.ts';
import { pythonText } from '@anneal/python/values/compare.ts';
import { parseJsonText } from '@anneal/python/yaml/json-text.ts';
import { wrongHints } from '../types/scheduler-hints.ts';

const isIPv4 = (text: string): boolean =>
  /^\d{1,3}(?:\.\d{1,3}){3}$/.test(text) && text.split('.').every((part) => Number(part) <= 255 && !/^0\d/.test(part));

/** Eight groups, one run of which may be written `::`. The last two may be an IPv4 address. */
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

type Validator = (value: string, now: Date | undefined) => string | undefined;

const label = /^(?!-)[a-z0-9-]{1,63}(?<!-)$/;
const longestName = 255;
function dnsName(value: string): string | undefined {
  const labels = value.replace(/\.$/, '').split('.');
  if (value.replace(/\.$/, '').length > longestName)
    return `'${value}' exceeds the ${longestName} character FQDN limit`;
  if (!labels.every((part) => label.test(part))) return `'${value}' not in valid format. Reason: a label is not valid`;
  const isNumeric = value.endsWith('.') && labels.length > 1 && /^\d+$/.test(labels.at(-1) ?? '');
  return isNumeric ? `'${value}' not in valid format. Reason: its last part is a number` : undefined;
}

function isCidr(value: string): boolean {
  const [address = '', prefix = '', ...rest] = value.split('/');
  if (rest.length > 0 || !/^\d{1,3}$/.test(prefix)) return false;
  return (isIPv4(address) && Number(prefix) <= 32) || (isIPv6(address) && Number(prefix) <= 128);
}

/** Eleven ways to write a MAC address, which differ in separators and group lengths. */
const isMac = (text: string): boolean =>
  /^[0-9a-f]{1,2}(?:([:-])[0-9a-f]{1,2}(?:\1[0-9a-f]{1,2}){4})$/i.test(text) ||
  /^(?:[0-9a-f]{1,4}[.:][0-9a-f]{1,4}[.:][0-9a-f]{1,4}|[0-9a-f]{5,6}-[0-9a-f]{5,6}|[0-9a-f]{11,12})$/i.test(text);

const months = 'jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec'.split('|');
const days = 'sun|mon|tue|wed|thu|fri|sat'.split('|');
/** Lowest value, highest value, and names that may replace numbers. The sixth field is the seconds. */
const cronFields: readonly (readonly [number, number, readonly string[]])[] = [
  [0, 59, []],
  [0, 23, []],
  [1, 31, []],
  [1, 12, months],
  [0, 7, days],
  [0, 59, []],
];
const cronAliases = /^@(?:midnight|hourly|daily|weekly|monthly|yearly|annually)$/i;

function isCron(value: string): boolean {
  if (cronAliases.test(value)) return true;
  const fields = value.toLowerCase().trim().split(/\s+/);
  if (fields.length < 5 || fields.length > 6) return false;
  return fields.every((field, index) => field.split(',').every((part) => isCronPart(part, index)));
}

function isCronPart(part: string, index: number): boolean {
  const [low = 0, high = 0, names = []] = cronFields[index] ?? [];
  const match = /^(?:[*?]|(?<from>\w+)(?:-(?<to>\w+))?)(?:\/(?<step>\d+))?$/.exec(part);
  if (!match?.groups) return index === 4 && /^(?:l?[0-7](?:#[1-5])?|[a-z]{3}#[1-5])$/.test(part);
  const { from, to, step } = match.groups;
  if (step !== undefined && Number(step) === 0) return false;
  const fits = (text: string | undefined): boolean => {
    if (text === undefined) return true;
    if (index === 2 && text === 'l') return true;
    const named = names.indexOf(text);
    const number = /^\d+$/.test(text) ? Number(text) : named < 0 ? Number.NaN : named + (index === 3 ? 1 : 0);
    return number >= low && number <= high;
  };
  return fits(from) && fits(to);
}

const isoTime =
  /^(?<year>\d{4})(?:(?:-(?<monthDash>\d{1,2})|(?<month>\d{2})(?!$))(?:(?:-(?<dayDash>\d{1,2})|(?<day>\d{2}))(?:[ T](?<hour>\d{2})(?::?(?<minute>\d{2}))?(?::?(?<second>\d{1,2})(?:[.,](?<fraction>\d+))?)?(?<offset>Z|[-+]\d{2}:?(?:\d{2})?)?)?)?)?$/;

/** Milliseconds since 1970; a text without an offset is in UTC. Undefined when the text is no such time. */
function isoMoment(text: string): number | undefined {
  const parts = isoTime.exec(text)?.groups;
  if (!parts) return undefined;
  const number = (part: string | undefined, absent = 0): number => Number(part ?? absent);
  const year = number(parts['year']);
  const month = number(parts['monthDash'] ?? parts['month'], 1);
  const day = number(parts['dayDash'] ?? parts['day'], 1);
  const [hour, minute, second] = [parts['hour'], parts['minute'], parts['second']].map((part) => number(part));
  const date = new Date(Date.UTC(year, month - 1, day, hour, minute, second));
  const isDay = year > 0 && date.getUTCMonth() + 1 === month && date.getUTCDate() === day;
  // A second of 60 or an hour of 24 rolls over to the next day at the latest, so the parts differ.
  if (!isDay || date.getUTCHours() !== hour || date.getUTCMinutes() !== minute) return undefined;
  const [, sign = '+', hours, minutes] = /^([-+])(\d{2}):?(\d{2})?$/.exec(parts['offset'] ?? '') ?? [];
  const ahead = (number(hours) * 60 + number(minutes)) * (sign === '-' ? -1 : 1);
  return date.getTime() + number(`0.${parts['fraction'] ?? 0}`) * 1000 - ahead * 60_000;
}

/** Without a time only the form is checked: a stored stack is compiled again, and a later date refuses nothing. */
function expiration(value: string, now: Date | undefined): string | undefined {
  const moment = isoMoment(value.trim());
  if (moment === undefined) return `Expiration ${value} is invalid: it is no ISO 8601 time.`;
  return now && moment <= now.getTime() ? `Expiration ${value} is invalid: Expiration time is out of date.` : undefined;
}

function jsonString(value: string): string | undefined {
  try {
    parseJsonText(value);
    return undefined;
  } catch (error) {
    return `JSON string ${value} is invalid: ${(error as Error).message}`;
  }
}

const validators: Record<string, Validator> = {
  ip_addr: (value) => (isIP(value) ? undefined : `Invalid IP address: ${value}`),
  net_cidr: (value) => (isCidr(value) ? undefined : `Invalid net cidr ${value}`),
  ip_or_cidr: (value) => (isIP(value) || isCidr(value) ? undefined : `Invalid IP address or net cidr ${value}`),
  mac_addr: (value) => (isMac(value) ? undefined : `Invalid MAC address ${value}`),
  dns_name: dnsName,
  rel_dns_name: (value) =>
    value.endsWith('.') || value.length > longestName - 3
      ? `'${value}' is a FQDN. It should be a relative domain name.`
      : dnsName(value),
  dns_domain: (value) => dnsName(value) ?? (value.endsWith('.') ? undefined : `'${value}' must end with '.'.`),
  cron_expression: (value) => (isCron(value) ? undefined : `Invalid CRON expression: ${value}`),
  iso_8601: (value) => (isoMoment(value) !== undefined ? undefined : `Invalid ISO 8601 time: ${value}`),
  expiration,
  json_string: jsonString,
  timezone: (value) => {
    if (/^[-+]?\d/.test(value)) return `Invalid timezone: '${value}'`;
    try {
      Intl.DateTimeFormat('en', { timeZone: value });
      return undefined;
    } catch {
      return `Invalid timezone: '${value}'`;
    }
  },
  test_constr: () => undefined,
};

/** The constraints that only a cloud can check, by service, of every release of Heat. */
const ofServices: Readonly<Record<string, string>> = {
  barbican: 'container secret',
  blazar: 'reservation',
  cinder: 'backup qos_specs snapshot volume vtype',
  designate: 'domain zone',
  glance: 'image',
  ironic: 'node portgroup',
  keystone: 'domain group project region role service user',
  magnum: 'baymodel cluster_template',
  manila: 'share_network share_snapshot share_type',
  mistral: 'workflow',
  monasca: 'notification',
  neutron:
    'address_scope flow_classifier lb.provider lbaas.listener lbaas.loadbalancer lbaas.pool lbaas.provider network port port_pair port_pair_group qos_policy router security_group segment subnet subnetpool taas.tap_flow taas.tap_service',
  nova: 'flavor host keypair network server',
  octavia: 'availabilityzone availabilityzoneprofile flavor flavorprofile l7policy listener loadbalancer pool',
  sahara: 'cluster cluster_template data_source image job_binary job_type plugin',
  senlin: 'cluster policy policy_type profile profile_type',
  trove: 'flavor',
  zaqar: 'queue',
};
const checkedLater: ReadonlySet<string> = new Set(
  Object.entries(ofServices).flatMap(([service, names]) => names.split(' ').map((name) => `${service}.${name}`)),
);

/** How a named constraint is checked. */
export interface CustomChecking {
  /** The time of the request. Without it, a date that has passed is accepted. */
  readonly now?: Date | undefined;
  /** In a parameter only the names of Heat exist. The provider of a type may check a constraint of its own. */
  readonly inParameter?: boolean | undefined;
}

/** Why the value violates the constraint. Undefined when it does not, or when only a cloud could tell. */
export function checkCustom(
  name: string,
  value: Json,
  { now, inParameter = false }: CustomChecking = {},
): Reason | undefined {
  if (value === null) return undefined;
  if (name === 'anneal.scheduler_hints') {
    const problem = wrongHints(value);
    return problem === undefined ? undefined : why`${problem}`;
  }
  if (!Object.hasOwn(validators, name)) {
    const isChecked = checkedLater.has(name) || (!inParameter && name.includes('.'));
    return isChecked ? undefined : why`"${pythonText(value)}" does not validate ${stated(name)} (constraint not found)`;
  }
  if (value === '' && emptyAllowed.has(name)) return undefined;
  const isText = typeof value === 'string';
  const problem =
    isText || !textOnly.has(name) ? validators[name]?.(isText ? value : pythonText(value), now) : 'it is no text';
  if (problem === undefined) return undefined;
  const full = `Error validating value '${pythonText(value)}': ${problem}`;
  return new Reason(full, why`"${pythonText(value)}" does not validate ${stated(name)}`.masked);
}

const emptyAllowed = new Set([
  'dns_name',
  'rel_dns_name',
  'dns_domain',
  'cron_expression',
  'expiration',
  'json_string',
  'timezone',
]);
const textOnly = new Set(['dns_name', 'rel_dns_name', 'dns_domain']);
