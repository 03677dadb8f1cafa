/** How an operator connects to the consoles that a BMC offers. Pure: from the address of the BMC and the inspection. */
import { safeParseExact } from '@anneal/contracts/exact-schema.ts';
import type { NodeView } from '@anneal/contracts/calls/nodes.ts';
import { bmcOf } from '@anneal/contracts/drivers.ts';
import { z } from 'zod';

/** A console as the inspection recorded it. An operator may have declared something else under its name. */
const recordedSchema = z.object({
  kind: z.enum(['serial', 'graphical', 'shell']),
  protocol: z.enum(['ssh', 'telnet', 'ipmi', 'kvm']),
  port: z.number().int().nullable(),
  enter: z.string().nullable(),
  leave: z.string().nullable(),
});

interface ConsoleAccess {
  readonly kind: z.infer<typeof recordedSchema>['kind'];
  readonly protocol: z.infer<typeof recordedSchema>['protocol'];
  /** Never with a password. */
  readonly url: string;
  /** Program and arguments. Null for a page in a browser. The program itself asks for the password. */
  readonly command: readonly string[] | null;
  /** The command to enter at the prompt of the BMC. */
  readonly enter: string | null;
  /** The keys that leave the console. */
  readonly leave: string | null;
}

/** Null before the first inspection that looked for consoles. */
export function consolesOf({ properties, driver_info: access }: NodeView): ConsoleAccess[] | null {
  const recorded = safeParseExact(z.array(recordedSchema), properties['consoles']);
  const found = bmcOf(access);
  if (!recorded.success || !found) return null;
  const { ipmi_cipher_suite: suite, ipmi_priv_level: level } = access;
  const options = [
    ...(typeof suite === 'number' ? ['-C', String(suite)] : []),
    ...(typeof level === 'string' ? ['-L', level] : []),
  ];
  const bmc = { address: new URL(found.address), user: found.user, options };
  return recorded.data.map(({ port, ...console }) => ({
    ...console,
    url: port === null ? new URL('/', bmc.address).href : urlOf(bmc, console.protocol, port),
    command: port === null ? null : commandOf(bmc, console.protocol, port),
  }));
}

interface Bmc {
  readonly address: URL;
  readonly user: string | undefined;
  /** Further options for `ipmitool`. */
  readonly options: readonly string[];
}
type Protocol = ConsoleAccess['protocol'];

const urlOf = ({ address, user }: Bmc, protocol: Protocol, port: number): string =>
  `${protocol}://${user === undefined ? '' : `${encodeURIComponent(user)}@`}${address.hostname}:${port}`;

function commandOf({ address, user, options }: Bmc, protocol: Protocol, port: number): string[] | null {
  const host = address.hostname.replaceAll(/[[\]]/g, '');
  const target = user === undefined ? host : `${user}@${host}`;
  // A name that begins with a dash is no option.
  const words = (name: string): string[] => (name.startsWith('-') ? ['--', name] : [name]);
  switch (protocol) {
    case 'ssh':
      return ['ssh', '-p', String(port), ...words(target)];
    case 'telnet':
      return ['telnet', ...words(host), String(port)];
    case 'ipmi': {
      const login = user === undefined ? [] : ['-U', user];
      return [
        'ipmitool',
        '-I',
        'lanplus',
        '-H',
        host,
        '-p',
        String(port),
        ...login,
        ...options,
        '-a',
        'sol',
        'activate',
      ];
    }
    case 'kvm':
      return null;
  }
}

/** The console of a node in Ironic's form: the first, because Ironic knows one. */
export function consoleStateOf(node: NodeView): object {
  // A node without a machine has no console to connect to.
  if (typeof node.console_enabled === 'boolean') return { console_enabled: node.console_enabled, console_info: null };
  const [first] = consolesOf(node) ?? [];
  return {
    console_enabled: first !== undefined,
    console_info: first ? { type: first.protocol, url: first.url } : null,
  };
}
