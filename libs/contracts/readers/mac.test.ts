import { describe, expect, it } from 'vitest';
import { macForm, macProblem, readMac } from './mac.ts';

describe('a MAC address', () => {
  it.each([
    '52:54:00:aa:00:02',
    '52:54:00:AA:00:02',
    '52-54-00-AA-00-02',
    '52:54:0:AA:0:2',
    '5254.00aa.0002',
    '5254:00aa:0002',
    '525400-aa0002',
    '525400AA0002',
    ' 52:54:00:aa:00:02\n',
  ])('has one form when it is written as %j', (text) => {
    expect(readMac(text)).toBe('52:54:00:aa:00:02');
  });

  it.each([
    ['21:00:f4:e9:d4:5b:11:22', '8 octets'],
    ['2100f4e9d45b1122', '8 octets'],
    ['00:00:10:86:fe:80:00:00:00:00:00:00:7c:fe:90:03:00:29:26:52', '20 octets'],
    ['52:54:00:aa:00', '5 octets'],
    ['52:54:00:aa-00-02', 'another form'],
    ['not-a-mac', 'another form'],
    ['N/A', 'another form'],
    ['', 'another form'],
    ['52:54:00:aa:00:0g', 'another form'],
    ['00-00-00-00-00-00', 'all zeros'],
    ['0000.0000.0000', 'all zeros'],
    ['FF:FF:FF:FF:FF:FF', 'the broadcast'],
    ['01:00:5e:00:00:fb', 'multicast'],
    ['33:33:00:00:00:01', 'multicast'],
  ])('is not %j, because it has or is: %s', (text, reason) => {
    expect(readMac(text)).toBeUndefined();
    expect(macProblem(text)).toContain(reason);
  });

  it('may be locally administered', () => expect(readMac('be:3a:f2:b6:05:9f')).toBe('be:3a:f2:b6:05:9f'));

  it('has a form even where no interface can have it, for the constraint of templates', () => {
    expect(macForm('00-00-00-00-00-00')).toBe('00:00:00:00:00:00');
    expect(macForm('x')).toBeUndefined();
  });

  it('is refused without its text, which may be hidden', () => {
    expect(macProblem('secret')).not.toContain('secret');
  });
});
