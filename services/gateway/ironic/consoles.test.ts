import type { NodeView } from '@anneal/contracts/calls/nodes.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { expect, it } from 'vitest';
import { consolesOf, consoleStateOf } from './consoles.ts';

const recorded = (protocol: string, port: number | null = null, kind = 'serial') => ({
  kind,
  protocol,
  port,
  enter: null,
  leave: null,
});
const node = (consoles: unknown, access: JsonObject = {}): NodeView => {
  const shown = { properties: { consoles }, driver_info: { redfish_address: 'https://10.0.0.7:8443/bmc', ...access } };
  return shown as unknown as NodeView;
};
const commands = (view: NodeView) => consolesOf(view)?.map(({ url, command }) => [url, command?.join(' ') ?? null]);

it('shows the line that connects to each console, never with a password', () => {
  const all = [
    recorded('ssh', 2200),
    recorded('ipmi', 623),
    recorded('telnet', 23),
    recorded('kvm', null, 'graphical'),
  ];
  expect(commands(node(all, { redfish_username: 'admin', redfish_password: 'secret' }))).toEqual([
    ['ssh://admin@10.0.0.7:2200', 'ssh -p 2200 admin@10.0.0.7'],
    ['ipmi://admin@10.0.0.7:623', 'ipmitool -I lanplus -H 10.0.0.7 -p 623 -U admin -a sol activate'],
    ['telnet://admin@10.0.0.7:23', 'telnet 10.0.0.7 23'],
    ['https://10.0.0.7:8443/', null],
  ]);
});

it('lets neither a user nor a host become an option of the program', () => {
  const ssh = [recorded('ssh', 22)];
  expect(commands(node(ssh, { redfish_username: '-oProxyCommand=x' }))?.[0]?.[1]).toBe(
    'ssh -p 22 -- -oProxyCommand=x@10.0.0.7',
  );
  expect(commands(node(ssh, { redfish_address: 'https://[fd00::7]' }))).toEqual([
    ['ssh://[fd00::7]:22', 'ssh -p 22 fd00::7'],
  ]);
});

it('knows nothing before an inspection, or when an operator declared something else under the name', () => {
  expect(consolesOf(node(undefined))).toBeNull();
  expect(consolesOf(node('ssh'))).toBeNull();
  expect(consoleStateOf(node(undefined))).toEqual({ console_enabled: false, console_info: null });
});

it('answers Ironic with the first console', () => {
  expect(consoleStateOf(node([recorded('ssh', 22), recorded('ipmi', 623)]))).toEqual({
    console_enabled: true,
    console_info: { type: 'ssh', url: 'ssh://10.0.0.7:22' },
  });
});
