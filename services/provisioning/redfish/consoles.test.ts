import { expect, it } from 'vitest';
import { consolesIn } from './consoles.ts';

const offers = (system: object, manager: object = {}, network: object = {}) =>
  consolesIn(system as never, { manager: manager as never, network: network as never });
const serial = (protocol: string, port: number) => ({ kind: 'serial', protocol, port, enter: null, leave: null });
const graphical = { kind: 'graphical', protocol: 'kvm', port: null, enter: null, leave: null };

it('records the consoles that a system names, without those that are off', () => {
  const SerialConsole = {
    SSH: { ServiceEnabled: true, Port: 2200, ConsoleEntryCommand: 'console', HotKeySequenceDisplay: '~.' },
    Telnet: { ServiceEnabled: false, Port: 23 },
    IPMI: { ServiceEnabled: true },
  };
  const manager = { SerialConsole: { ServiceEnabled: true, ConnectTypesSupported: ['Telnet'] } };
  expect(offers({ SerialConsole, GraphicalConsole: { ServiceEnabled: true } }, manager)).toEqual([
    { ...serial('ssh', 2200), enter: 'console', leave: '~.' },
    serial('ipmi', 623),
    graphical,
  ]);
});

it('records the consoles of the manager where the system names none, with the ports of its network services', () => {
  const on = (...types: string[]) => ({ ServiceEnabled: true, ConnectTypesSupported: types });
  const manager = { SerialConsole: on('SSH', 'Telnet', 'Oem'), CommandShell: on('SSH'), GraphicalConsole: on('KVMIP') };
  expect(offers({ SerialConsole: {} }, manager, { SSH: { Port: 2022 } })).toEqual([
    serial('ssh', 2022),
    serial('telnet', 23),
    graphical,
    { ...serial('ssh', 2022), kind: 'shell' },
  ]);
});

it('records nothing for a BMC that offers none, and no text that could control a terminal', () => {
  const off = { ServiceEnabled: false, ConnectTypesSupported: ['SSH'] };
  expect(offers({}, { SerialConsole: off, CommandShell: off, GraphicalConsole: off })).toEqual([]);
  expect(offers({ SerialConsole: null, GraphicalConsole: [] }, { CommandShell: 'SSH' })).toEqual([]);
  const SSH = { ServiceEnabled: true, Port: 'x', ConsoleEntryCommand: '\u001b[2J', HotKeySequenceDisplay: 7 };
  expect(offers({ SerialConsole: { SSH } })).toEqual([serial('ssh', 22)]);
});
