/** The consoles that a BMC offers: the system names those of newer firmware, the manager those of older firmware. Pure. */
import type { JsonObject } from '@anneal/contracts/json.ts';
import { within } from './reading.ts';

type Body = Readonly<Record<string, unknown>>;

/** The BMC that a system belongs to. */
interface ManagerDocuments {
  readonly manager: Body;
  /** The `ManagerNetworkProtocol` of the manager. It has the ports that the manager itself does not name. */
  readonly network: Body;
}

/** The protocols of a serial console, by Redfish's name, with the port that the standard gives to each. */
const serialProtocols = { SSH: ['ssh', 22], Telnet: ['telnet', 23], IPMI: ['ipmi', 623] } as const;
type Protocol = keyof typeof serialProtocols;

const portIn = (body: Body): number | undefined => {
  const { Port: port } = body;
  return typeof port === 'number' && Number.isInteger(port) && port > 0 && port < 65_536 ? port : undefined;
};
/** Text that a terminal may show. A BMC may send anything. */
const plainText = (value: unknown): string | null =>
  typeof value === 'string' && /^[\x20-\x7e]{1,256}$/.test(value) ? value : null;
const isOn = (body: Body): boolean => body['ServiceEnabled'] === true;

/** @returns the consoles in the order in which an operator prefers them: serial, graphical, the command line of the BMC. */
export function consolesIn(system: Body, { manager, network }: ManagerDocuments): JsonObject[] {
  const portOf = (protocol: Protocol): number => portIn(within(network, protocol)) ?? serialProtocols[protocol][1];
  const entry = (kind: 'serial' | 'shell', protocol: Protocol, body: Body = {}): JsonObject => ({
    kind,
    protocol: serialProtocols[protocol][0],
    port: portIn(body) ?? portOf(protocol),
    enter: plainText(body['ConsoleEntryCommand']),
    leave: plainText(body['HotKeySequenceDisplay']),
  });
  const serial = within(system, 'SerialConsole');
  const ofSystem = protocols
    .filter((protocol) => isOn(within(serial, protocol)))
    .map((protocol) => entry('serial', protocol, within(serial, protocol)));
  const ofManager = (kind: 'serial' | 'shell', name: string): JsonObject[] =>
    connectTypes(within(manager, name)).map((protocol) => entry(kind, protocol));
  const graphical = [within(system, 'GraphicalConsole'), within(manager, 'GraphicalConsole')].find(isOn);
  return [
    ...(ofSystem.length > 0 ? ofSystem : ofManager('serial', 'SerialConsole')),
    // The port of KVMIP serves the viewers of vendors. A browser opens the console on the page of the BMC.
    ...(graphical ? [{ kind: 'graphical', protocol: 'kvm', port: null, enter: null, leave: null }] : []),
    ...ofManager('shell', 'CommandShell'),
  ];
}

const protocols = Object.keys(serialProtocols) as Protocol[];

/** The protocols that a console of a manager is reached by; none when it is off. */
function connectTypes(console: Body): Protocol[] {
  const { ConnectTypesSupported: types } = console;
  return isOn(console) && Array.isArray(types) ? protocols.filter((protocol) => types.includes(protocol)) : [];
}
