/** The driver of machines whose BMC has no Redfish. It needs the program `ipmitool`. */
import { capabilitiesOf } from '../bmc/declared-properties.ts';
import type { BmcDriver } from '../bmc/port.ts';
import { IpmiMachine } from './machine.ts';
import { IpmiTool } from './tool.ts';

const normalPrivilege = 'ADMINISTRATOR';

export function createIpmiDriver({ placeholders }: { placeholders: ReadonlySet<string> }): BmcDriver {
  const tool = new IpmiTool();
  return {
    machine: ({ node, password, signal, tries }) =>
      new IpmiMachine(tool, {
        access: {
          node: node.name,
          address: node.address,
          username: node.username,
          password,
          cipherSuite: node.ipmi?.cipher_suite ?? null,
          privilege: node.ipmi?.priv_level ?? normalPrivilege,
        },
        signal,
        isUefi: capabilitiesOf(node.properties)['boot_mode'] !== 'bios',
        expected: node.identity,
        placeholders,
        tries,
      }),
    followEvents: () => Promise.resolve(false),
    close: () => Promise.resolve(),
  };
}
