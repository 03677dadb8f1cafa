/** Between a node's `driver_info`, in Ironic's names, and what its document stores of it. Pure. */
import { ipmiPort, ipmiUrl, type DriverInfo, type DriverName } from '@anneal/contracts/drivers.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { normalTrust, trustProblem, type Trust } from './trust.ts';

/** Shown instead of a password. When a client sends it as a value, the password stays unchanged. */
export const hiddenPassword = '******';

export interface StoredInfo {
  readonly driver: DriverName;
  /** `https://…` or `ipmi://host:port`. */
  readonly address: string;
  readonly system_id: string | null;
  readonly username: string | null;
  /** Null uses the setting of the service. */
  readonly verify_ca: Trust | null;
  readonly ipmi?: IpmiInfo | null;
}

/** A node without a machine has no address. */
export const fakeAddress = 'fake://none';

/** Null: the default of the driver. */
interface IpmiInfo {
  readonly cipher_suite: number | null;
  readonly priv_level: 'ADMINISTRATOR' | 'OPERATOR' | null;
}

/** The password may be sealed. */
type GivenInfo = Sealable<DriverInfo>;
type Sealable<T> = T extends unknown
  ? { readonly [K in keyof T]: K extends `${string}_password` ? Json | undefined : T[K] }
  : never;

/** @throws AnnealError InvalidRequest for a verification of certificates that cannot work. */
export function storedInfo(info: GivenInfo): Omit<StoredInfo, 'driver'> & { readonly given: Json | undefined } {
  if ('ipmi_address' in info)
    return {
      address: ipmiUrl(info.ipmi_address, info.ipmi_port ?? ipmiPort),
      system_id: null,
      username: info.ipmi_username ?? null,
      verify_ca: null,
      ipmi: { cipher_suite: info.ipmi_cipher_suite ?? null, priv_level: info.ipmi_priv_level ?? null },
      given: info.ipmi_password,
    };
  if (!('redfish_address' in info))
    return { address: fakeAddress, system_id: null, username: null, verify_ca: null, given: undefined };
  requireTrust(info.redfish_verify_ca);
  return {
    address: info.redfish_address.replace(/\/+$/, ''),
    system_id: info.redfish_system_id ?? null,
    username: info.redfish_username ?? null,
    verify_ca: info.redfish_verify_ca === undefined ? null : normalTrust(info.redfish_verify_ca),
    given: info.redfish_password,
  };
}

const shown: Readonly<Record<DriverName, (info: StoredInfo, password: string | undefined) => DriverInfo>> = {
  redfish: ({ address, system_id, username, verify_ca }, password) => ({
    redfish_address: address,
    ...(system_id !== null && { redfish_system_id: system_id }),
    ...(username !== null && { redfish_username: username }),
    ...(password !== undefined && { redfish_password: password }),
    ...(verify_ca !== null && { redfish_verify_ca: verify_ca }),
  }),
  ipmi: ({ address, username, ipmi }, password) => {
    const { hostname, port } = new URL(address);
    const { cipher_suite = null, priv_level = null } = ipmi ?? {};
    return {
      ipmi_address: hostname.replaceAll(/[[\]]/g, ''),
      ...(Number(port) !== ipmiPort && { ipmi_port: Number(port) }),
      ...(username !== null && { ipmi_username: username }),
      ...(password !== undefined && { ipmi_password: password }),
      ...(cipher_suite !== null && { ipmi_cipher_suite: cipher_suite }),
      ...(priv_level !== null && { ipmi_priv_level: priv_level }),
    };
  },
  'fake-hardware': () => ({}),
};

/** Without the password. */
export const driverInfoOf = (node: StoredInfo & { readonly password: Json }): DriverInfo =>
  shown[node.driver](node, node.password === null ? undefined : hiddenPassword);

function requireTrust(trust: Trust | undefined): void {
  const problem = trust === undefined ? undefined : trustProblem(trust);
  if (problem === undefined) return;
  const path = 'driver_info.redfish_verify_ca';
  throw new AnnealError('InvalidRequest', `The node is not valid: ${path}: ${problem}.`, {
    mistakes: [{ code: 'invalid_value', path, message: problem }],
  });
}
