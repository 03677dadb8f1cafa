/** The drivers of nodes: how each reaches a BMC, in Ironic's names, and what its protocol lacks. */
import { z } from 'zod';
import { holdsCredentials } from './address.ts';
import { hostNameProblem } from './host-name.ts';
import type { JsonObject } from './json.ts';
import { isIpAddress } from './readers/ip.ts';
import { webAddressSchema } from './readers/web-address.ts';

/** The drivers of machines, in Ironic's names. */
export const machineDrivers = ['redfish', 'ipmi'] as const;
/** All drivers. A node of `fake-hardware` has no machine: it is for tests of clients, and off unless a setting allows it. */
export const driverNames = [...machineDrivers, 'fake-hardware'] as const;
/** The name of a driver. */
export type DriverName = (typeof driverNames)[number];

const redfishInfoSchema = z.object({
  redfish_address: webAddressSchema('expected an address that begins with http:// or https://').refine(
    (text) => !holdsCredentials(text),
    'must not contain a user or password: put them into redfish_username and redfish_password',
  ),
  redfish_system_id: z
    .string()
    .min(1)
    .max(1024)
    .optional()
    .meta({ description: 'Path of the system, or its last part. When absent, the BMC must have exactly one system.' }),
  redfish_username: z.string().max(255).optional(),
  redfish_password: z.string().max(4096).optional(),
  redfish_verify_ca: z
    .union([z.boolean(), z.string().min(1).max(4096)])
    .optional()
    .meta({
      description:
        'How to check its TLS certificate: true, false, the path of a CA file, or `sha256:…`. Absent: the setting decides.',
    }),
});

/** Ironic's clients send numbers as text. */
const wholeNumber = (most: number, what: string) =>
  z
    .union([z.number(), z.string()], { error: what })
    .refine((value) => /^\d{1,5}$/.test(String(value)) && Number(value) >= 1 && Number(value) <= most, what)
    .transform(Number);
// The program reads the name and the password as C strings.
const plainText = (most: number) =>
  z
    .string()
    .refine((text) => new TextEncoder().encode(text).length <= most, `IPMI allows at most ${most} bytes`)
    // eslint-disable-next-line no-control-regex
    .refine((text) => !/[\u0000-\u001f\u007f]/.test(text), 'must not contain control characters');

const ipmiInfoSchema = z.object({
  ipmi_address: z
    .string()
    .refine(
      (text) => isIpAddress(text) || hostNameProblem(text) === undefined,
      'expected an IP address or the name of a host, without ipmi:// and without a port',
    )
    .meta({ description: 'IP address or name of the BMC.' }),
  ipmi_port: wholeNumber(65_535, 'expected a UDP port from 1 to 65535')
    .optional()
    .meta({ description: 'UDP port. Absent: 623.' }),
  ipmi_username: plainText(16).optional(),
  ipmi_password: plainText(20).optional(),
  ipmi_cipher_suite: wholeNumber(17, 'expected a cipher suite from 1 to 17')
    .optional()
    .meta({ description: 'Cipher suite. Absent: 17, or 3 when the BMC refuses 17.' }),
  ipmi_priv_level: z
    .enum(['ADMINISTRATOR', 'OPERATOR'], {
      error: 'expected ADMINISTRATOR or OPERATOR, because a lower level cannot change the power',
    })
    .optional()
    .meta({ description: 'Privilege level of the session. Absent: ADMINISTRATOR.' }),
});

/** A node of the driver `fake-hardware` has no machine, so there is nothing to reach. */
const fakeInfoSchema = z.object({});

/** How to reach the BMC of a node, by driver. */
export const driverInfoSchemas = {
  redfish: redfishInfoSchema,
  ipmi: ipmiInfoSchema,
  'fake-hardware': fakeInfoSchema,
} as const;
/** The access in a node's `driver_info`. */
export type DriverInfo =
  | z.output<typeof redfishInfoSchema>
  | z.output<typeof ipmiInfoSchema>
  | z.output<typeof fakeInfoSchema>;

/** Names and meanings of the fields of each driver's `driver_info`, as Ironic's clients show them. */
export const driverProperties = {
  redfish: {
    redfish_address: 'Address of the BMC: https://…',
    redfish_system_id: 'Path of the system, or its last part. Required when the BMC has several systems.',
    redfish_username: 'User of the BMC.',
    redfish_password: 'Password of that user.',
    redfish_verify_ca: 'How to verify its certificate: true, false, the path of a CA file, or sha256:…',
  },
  ipmi: {
    ipmi_address: 'IP address or name of the BMC. Required.',
    ipmi_port: 'UDP port of the BMC. Default: 623.',
    ipmi_username: 'User of the BMC.',
    ipmi_password: 'Password of that user.',
    ipmi_cipher_suite: 'Cipher suite. Default: 17, or 3 when the BMC refuses 17.',
    ipmi_priv_level: 'Privilege level: ADMINISTRATOR (default) or OPERATOR.',
  },
  'fake-hardware': {
    none: 'A node of this driver has no machine and takes no access. It is for tests of clients only.',
  },
} as const satisfies Readonly<Record<DriverName, Readonly<Record<string, string>>>>;

const lacks: Readonly<Record<DriverName, Readonly<Record<string, string>>>> = {
  redfish: {},
  ipmi: {
    bios: 'IPMI cannot change BIOS settings.',
    raid: 'IPMI cannot change RAID volumes.',
    firmware: 'IPMI cannot update firmware.',
    'management.set_boot_mode':
      'IPMI cannot change the boot mode. Set it in the firmware, and declare it in the capability boot_mode (uefi or bios).',
    'management.set_secure_boot': 'IPMI cannot change secure boot.',
  },
  'fake-hardware': {},
};

/** The kinds of interfaces of a driver, in Ironic's names. */
export const interfaceKinds = [
  'bios',
  'boot',
  'console',
  'deploy',
  'firmware',
  'inspect',
  'management',
  'network',
  'power',
  'raid',
  'rescue',
  'storage',
  'vendor',
] as const;
/** A kind of interface. */
export type InterfaceKind = (typeof interfaceKinds)[number];

/** Kinds without which a driver could not deploy a machine. */
const neededKinds: readonly InterfaceKind[] = ['boot', 'deploy', 'management', 'power', 'network', 'storage'];

type Interfaces = Readonly<Record<InterfaceKind, readonly string[]>>;
const byKind = (namesOf: (kind: InterfaceKind) => readonly string[]): Interfaces =>
  Object.fromEntries(
    interfaceKinds.map((kind): [InterfaceKind, readonly string[]] => [
      kind,
      kind === 'network' || kind === 'storage' ? ['noop'] : namesOf(kind),
    ]),
  ) as Record<InterfaceKind, readonly string[]>;

/** The interfaces of a protocol. Anneal has one of each kind, or none. */
const ofProtocol = (protocol: string, lacking: readonly InterfaceKind[]): Interfaces =>
  byKind((kind) => {
    if (lacking.includes(kind)) return [`no-${kind}`];
    return [kind === 'deploy' ? 'direct' : kind === 'rescue' ? 'agent' : protocol];
  });

/** The interfaces that a node of a driver may have, by kind: the default first. */
export const driverInterfaces: Readonly<Record<DriverName, Interfaces>> = {
  redfish: ofProtocol('redfish', ['console', 'vendor']),
  ipmi: ofProtocol('ipmitool', ['bios', 'console', 'firmware', 'raid', 'vendor']),
  'fake-hardware': byKind((kind) => ['fake', ...(neededKinds.includes(kind) ? [] : [`no-${kind}`])]),
};

/**
 * Why a driver cannot do a step (`interface.step`) or any step of an interface. Undefined when it can.
 */
export function lackOf(driver: DriverName, name: string): string | undefined {
  const reasons = lacks[driver];
  return reasons[name] ?? reasons[name.split('.')[0] ?? ''];
}

/** The address of the BMC in a node's `driver_info`, and its user. Undefined for an unknown form. */
export function bmcOf(info: JsonObject): { readonly address: string; readonly user: string | undefined } | undefined {
  const textOf = (name: string): string | undefined => {
    const value = info[name];
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const { redfish_address: address } = info;
  if (typeof address === 'string') return { address, user: textOf('redfish_username') };
  const host = textOf('ipmi_address');
  if (host === undefined) return undefined;
  return { address: ipmiUrl(host, Number(info['ipmi_port'] ?? ipmiPort)), user: textOf('ipmi_username') };
}

/** The UDP port of IPMI. */
export const ipmiPort = 623;

/** One address of an IPMI BMC, whatever the spelling of its host. */
export const ipmiUrl = (host: string, port: number): string =>
  `ipmi://${host.includes(':') ? `[${host.toLowerCase()}]` : host.toLowerCase()}:${port}`;
