/** Why a run of `ipmitool` failed, as an error that says what to do. Pure. */
import { redactText } from '@anneal/runtime/secrets/redact.ts';
import { BmcError } from '../bmc/bmc-error.ts';

export interface IpmiAccess {
  /** Named in every error. */
  readonly node: string;
  readonly address: string;
  readonly username: string | null;
  readonly password: string | null;
  /** Null: the strongest that the BMC accepts, of 17 and 3. */
  readonly cipherSuite: number | null;
  readonly privilege: string;
}

export interface IpmiCommand {
  /** For people, such as `read its power`. */
  readonly what: string;
  readonly words: readonly string[];
}

export interface IpmiOutcome {
  readonly stdout: string;
  readonly stderr: string;
  readonly failure: (Error & { code?: number | string | null | undefined; killed?: boolean | undefined }) | null;
}

interface Reason {
  readonly code: ConstructorParameters<typeof BmcError>[0];
  readonly repeat: BmcError['repeat'];
  readonly why: string;
}

const otherSuite =
  /no matching cipher suite|invalid (?:authentication|integrity|confidentiality) algorithm|unsupported cipher suite/i;
const wrongLogin = /RAKP 2 HMAC is invalid|unauthorized name|RAKP 4 message has invalid|invalid role/i;
/** Lines that the program prints in every run with `-v`, and its general last line. */
const chatter =
  /^(?:Loading IANA|Running Get|Discovered IPMB|Invalid completion code|RAW |Error: Unable to establish)/i;
const insufficientPrivilege = 0xd4;

export const refusesSuite = ({ stderr }: IpmiOutcome): boolean => otherSuite.test(stderr);

/** The completion code of the BMC. Undefined when it sent none. */
function completionIn(stderr: string): number | undefined {
  const [, hex] = /rsp=0x([0-9a-f]{1,2})\)/i.exec(stderr) ?? [];
  return hex === undefined ? undefined : Number.parseInt(hex, 16);
}

/** The message names the machine and the command, never the password. */
export function errorOf(access: IpmiAccess, { what, words }: IpmiCommand, outcome: IpmiOutcome | undefined): BmcError {
  const { node, address } = access;
  const command = `ipmitool ${words.join(' ')}`;
  const { code, repeat, why } = reasonOf(access, outcome ?? { stdout: '', stderr: '', failure: null });
  const message = `The BMC of node ${node} at ${address}: could not ${what} (${command}): ${why}`;
  return new BmcError(code, message, { repeat, cause: outcome?.failure, details: { node, url: address, command } });
}

function reasonOf(access: IpmiAccess, { stdout, stderr, failure }: IpmiOutcome): Reason {
  const said = redactText(wordsIn(stderr) || wordsIn(stdout), access.password === null ? [] : [access.password]);
  const wrong = (why: string): Reason => ({ code: 'BmcMisconfigured', repeat: 'never', why });
  if (failure?.code === 'ENOENT')
    return wrong(
      'the provisioning service has no program ipmitool. Install it there (Debian: apt-get install ipmitool).',
    );
  if (otherSuite.test(stderr)) {
    const tried = access.cipherSuite ?? '17 and 3, because the node names none';
    return wrong(`it refused the cipher suite (${tried}): ${said}. Set ipmi_cipher_suite to one that it accepts.`);
  }
  if (wrongLogin.test(stderr))
    return wrong(`it refused the login: ${said}. Check ipmi_username, ipmi_password and ipmi_priv_level.`);
  const completion = completionIn(stderr);
  if (completion === insufficientPrivilege)
    return wrong(`the privilege level ${access.privilege} does not permit it. Set another ipmi_priv_level or user.`);
  if (/does not support IPMI v2/i.test(stderr))
    return wrong('it does not speak IPMI 2.0 (RMCP+). Turn that on at the BMC.');
  if (/unable to establish/i.test(stderr)) {
    const why = 'it did not answer. Check its address, port and power, and that IPMI over LAN is on.';
    return { code: 'BmcUnreachable', repeat: 'always', why };
  }
  const isLost = failure?.killed === true || said === '' || /no (?:valid )?response|timeout/i.test(said);
  if (completion === undefined && isLost)
    return { code: 'BmcUnreachable', repeat: 'idempotent', why: `it did not answer in time. ${said}`.trim() };
  return { code: 'BmcRefused', repeat: 'never', why: said };
}

const wordsIn = (stderr: string): string =>
  stderr
    .split('\n')
    .map((line) => line.replace(/^[>\s]+/, '').trim())
    .filter((line) => line !== '' && !chatter.test(line))
    .slice(-3)
    .join('; ')
    .slice(0, 300);
