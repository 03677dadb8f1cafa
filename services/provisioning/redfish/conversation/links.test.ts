import { describe, expect, it } from 'vitest';
import { isOwn, ownUrl } from './links.ts';

const giver = { node: 'n1', address: 'https://bmc.example' };

describe('an address that a controller gives', () => {
  it.each([
    ['/redfish/v1/Systems/1', 'https://bmc.example/redfish/v1/Systems/1'],
    ['https://bmc.example/redfish/v1/?a=1#x', 'https://bmc.example/redfish/v1/?a=1'],
    ['https://BMC.example:443/redfish/v1/', 'https://bmc.example/redfish/v1/'],
    ['//bmc.example/x', 'https://bmc.example/x'],
    ['https://admin:secret@bmc.example/x', 'https://bmc.example/x'],
  ])('L1: leads to the controller itself: %s', (given, url) => {
    expect(ownUrl(giver, given, { what: 'a link' }).href).toBe(url);
    expect(isOwn(giver, given)).toBe(true);
  });

  it.each([
    ['https://other.example/x', 'https://other.example'],
    ['//other.example/x', 'https://other.example'],
    ['/\\other.example/x', 'https://other.example'],
    ['https://bmc.example@other.example/x', 'https://other.example'],
    ['https://bmc.example.other/x', 'https://bmc.example.other'],
    ['https://bmc.example:8443/x', 'https://bmc.example:8443'],
    ['http://bmc.example/x', 'http://bmc.example'],
    ['file:///etc/passwd', 'file:'],
    ['https://[', 'no address'],
  ])('L1: is refused by name when it leads elsewhere: %s', (given, named) => {
    const read = () => ownUrl(giver, given, { what: 'the target of #X.Reset' });
    expect(read).toThrow(/node n1 at https:\/\/bmc\.example names the target of #X\.Reset as /);
    expect(read).toThrow(named);
    expect(isOwn(giver, given)).toBe(false);
  });

  it('belongs to the address of the request when it is relative', () => {
    const from = new URL('https://bmc.example/redfish/v1/TaskService/Tasks/');
    expect(ownUrl(giver, '7', { what: 'a redirect', from }).pathname).toBe('/redfish/v1/TaskService/Tasks/7');
  });
});
