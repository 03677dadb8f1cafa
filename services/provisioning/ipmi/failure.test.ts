import { describe, expect, it } from 'vitest';
import { errorOf } from './failure.ts';

const access = {
  node: 'n1',
  address: 'ipmi://10.0.0.7:623',
  username: 'admin',
  password: 'hunter22',
  cipherSuite: 3,
  privilege: 'OPERATOR',
};
const failed = (stderr: string) =>
  errorOf(
    access,
    { what: 'turn it on', words: ['chassis', 'power', 'on'] },
    { stdout: '', stderr, failure: new Error('x') },
  );
const raw = (code: string): string =>
  `Unable to send RAW command (channel=0x0 netfn=0x0 lun=0x0 cmd=0x2 rsp=${code}): why`;

describe('a failed command to a BMC over IPMI', () => {
  it.each([
    [raw('0xd4'), 'BmcMisconfigured', 'never', 'privilege level OPERATOR'],
    [raw('0xc1'), 'BmcRefused', 'never', 'rsp=0xc1'],
    ['No valid response received', 'BmcUnreachable', 'idempotent', 'in time'],
    ['This BMC does not support IPMI v2 / RMCP+', 'BmcMisconfigured', 'never', 'RMCP+'],
    ['Error: Unable to establish IPMI v2 / RMCP+ session', 'BmcUnreachable', 'always', 'did not answer'],
  ])('T3: %s is %s, repeated %s', (stderr, code, repeat, why) => {
    const error = failed(stderr);
    expect(error).toMatchObject({ code, repeat });
    expect(error.message).toContain('node n1 at ipmi://10.0.0.7:623: could not turn it on (ipmitool chassis power on)');
    expect(error.message).toContain(why);
  });

  it('T1: shows no password that the program repeats', () => {
    expect(failed('bad value hunter22').message).not.toContain('hunter22');
  });
});
