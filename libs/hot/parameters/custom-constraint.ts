/**
 * The named constraints of Heat. Those of a service (`nova.flavor`, `glance.image`) count as satisfied, because only the
 * provider of the resource can say whether such an object exists. It does so when it gets a request.
 */
import { hostNameProblem, serverNameProblem } from '@anneal/contracts/host-name.ts';
import { isObject, type Json } from '@anneal/contracts/json.ts';
import { cronProblem } from '@anneal/contracts/readers/cron.ts';
import { isIpAddress, readNetwork } from '@anneal/contracts/readers/ip.ts';
import { macForm, macProblem } from '@anneal/contracts/readers/mac.ts';
import { isoMoment } from '@anneal/contracts/readers/moment.ts';
import { rebootProblem } from '@anneal/contracts/reboot-option.ts';
import { isTimeZone } from '@anneal/contracts/readers/time-zone.ts';
import { Reason, stated, why } from '../evaluate/reason.ts';
import { pythonText } from '@anneal/python/values/compare.ts';
import { parseJsonText } from '@anneal/python/yaml/json-text.ts';
import { wrongHints } from '../types/scheduler-hints.ts';

type Validator = (value: string, checking: CustomChecking) => string | undefined;

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

const isCidr = (value: string): boolean => readNetwork(value)?.hasPrefix === true;

/** Without a time only the form is checked: a stored stack is compiled again, and a later date refuses nothing. */
function expiration(value: string, { now }: CustomChecking): string | undefined {
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
  ip_addr: (value) => (isIpAddress(value) ? undefined : `Invalid IP address: ${value}`),
  net_cidr: (value) => (isCidr(value) ? undefined : `Invalid net cidr ${value}`),
  ip_or_cidr: (value) => (isIpAddress(value) || isCidr(value) ? undefined : `Invalid IP address or net cidr ${value}`),
  mac_addr: (value) => (macForm(value) !== undefined ? undefined : `Invalid MAC address ${value}`),
  dns_name: dnsName,
  rel_dns_name: (value) =>
    value.endsWith('.') || value.length > longestName - 3
      ? `'${value}' is a FQDN. It should be a relative domain name.`
      : dnsName(value),
  dns_domain: (value) => dnsName(value) ?? (value.endsWith('.') ? undefined : `'${value}' must end with '.'.`),
  cron_expression: (value, { inParameter = false }) => {
    const problem = cronProblem(value);
    // A parameter may be for a system that knows more. A type that Anneal serves is not.
    if (!problem || (inParameter && problem.isForeign)) return undefined;
    return `Invalid CRON expression: ${value}: ${problem.message}`;
  },
  iso_8601: (value) => (isoMoment(value) !== undefined ? undefined : `Invalid ISO 8601 time: ${value}`),
  expiration,
  json_string: jsonString,
  timezone: (value) => (isTimeZone(value) ? undefined : `Invalid timezone: '${value}'`),
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

/** The constraint of the address of a network interface, which a machine can have. */
const interfaceMac = 'anneal.interface_mac';

/** The constraint of the options of a config. Only the entry `reboot` has one. */
const configOptions = 'anneal.config_options';

/** The entry of a map that a named constraint is about. */
export const constrainedEntry: ReadonlyMap<string, string> = new Map([[configOptions, 'reboot']]);

/** The names of machines and the addresses of their interfaces. An empty one counts as absent, as in Heat. */
const nameRules: Readonly<Record<string, (value: string) => string | undefined>> = {
  'anneal.host_name': hostNameProblem,
  'anneal.server_name': serverNameProblem,
  [interfaceMac]: macProblem,
};

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
  if (name === configOptions) {
    const { reboot } = isObject(value) ? value : {};
    const problem = rebootProblem(reboot);
    return problem === undefined ? undefined : why`${JSON.stringify(reboot)} is not valid: ${stated(problem)}`;
  }
  const rule = Object.hasOwn(nameRules, name) ? nameRules[name] : undefined;
  if (rule && typeof value === 'string') {
    const problem = value === '' ? undefined : rule(value);
    return problem === undefined
      ? undefined
      : why`${JSON.stringify(value)} is not a valid ${stated(name === interfaceMac ? 'address' : 'name')}: ${stated(problem)}`;
  }
  if (!Object.hasOwn(validators, name)) {
    const isChecked = checkedLater.has(name) || (!inParameter && name.includes('.'));
    return isChecked ? undefined : why`"${pythonText(value)}" does not validate ${stated(name)} (constraint not found)`;
  }
  if (value === '' && emptyAllowed.has(name)) return undefined;
  const isText = typeof value === 'string';
  const problem =
    isText || !textOnly.has(name)
      ? validators[name]?.(isText ? value : pythonText(value), { now, inParameter })
      : 'it is no text';
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
