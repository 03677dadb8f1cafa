/** The files that describe a host to itself, in the forms of EC2, OpenStack and cloud-init's NoCloud. Pure. */
import { ipFamily } from '@anneal/contracts/readers/ip.ts';
import type { Instance } from '@anneal/contracts/calls/boot.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import { networkConfig } from './network-config.ts';
import { metaData, openstackVersions, publicKeys } from './openstack.ts';
import type { Folder } from './tree.ts';

/** An instance whose secrets are open. */
export type OpenInstance = Instance & { readonly user_data: string; readonly metadata: JsonObject };

/** The versions of EC2 that clients ask for. Each has the same content. */
export const ec2Versions = [
  '1.0',
  '2007-01-19',
  '2007-03-01',
  '2007-08-29',
  '2007-10-10',
  '2007-12-15',
  '2008-02-01',
  '2008-09-01',
  '2009-04-04',
  '2011-01-01',
  '2014-02-25',
  '2016-09-02',
  '2018-09-24',
  '2021-03-23',
  'latest',
] as const;

/** Every file by its path. Vendor data is empty, because that of a config drive has the credentials of the host. */
export function instanceFiles(instance: OpenInstance, { region }: { region: string }): Folder {
  const ec2: Folder = {
    'meta-data': ec2MetaData(instance, region),
    ...(instance.user_data !== '' && { 'user-data': instance.user_data }),
    dynamic: { 'instance-identity': { document: lines(identityDocument(instance, region)) } },
  };
  return {
    ...Object.fromEntries(ec2Versions.map((version) => [version, ec2])),
    openstack: openstackFiles(instance),
    nocloud: nocloudFiles(instance),
  };
}

const lines = (value: Json): string => JSON.stringify(value, null, 2);

const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** The interfaces of networks first, because programs take the first one for that of the host. */
const nicsOf = ({ interfaces }: Instance): Instance['interfaces'] =>
  interfaces.toSorted((a, b) => Number(b.network !== null) - Number(a.network !== null));

function ec2MetaData(instance: OpenInstance, region: string): Folder {
  const { host_id, hostname, metadata, image, resource_class, availability_zone, root_device } = instance;
  const nics = nicsOf(instance);
  const addresses = nics.flatMap((nic) => nic.addresses);
  const ipv4 = addresses.find((address) => ipFamily(address) === 4);
  const ipv6 = addresses.find((address) => ipFamily(address) === 6);
  const keys = publicKeys(metadata);
  const tags = Object.entries(metadata).filter(([name]) => name !== 'public_keys' && !/[/=]/.test(name));
  const device = root_device?.replace(/^\/dev\//, '');
  return {
    'ami-id': image,
    'ami-launch-index': '0',
    'ami-manifest-path': '(unknown)',
    ...(device !== undefined && { 'block-device-mapping': { ami: device, root: `/dev/${device}` } }),
    hostname,
    'instance-action': 'none',
    'instance-id': host_id,
    'instance-type': resource_class,
    'local-hostname': hostname,
    ...(ipv4 !== undefined && { 'local-ipv4': ipv4 }),
    ...(ipv6 !== undefined && { ipv6 }),
    ...(nics[0] && { mac: nics[0].mac_address }),
    ...(nics.length > 0 && {
      network: {
        interfaces: {
          macs: Object.fromEntries(nics.map((nic, at) => [nic.mac_address, nicFolder(nic, { at, hostname })])),
        },
      },
    }),
    placement: { 'availability-zone': availability_zone, region },
    ...(keys.length > 0 && {
      'public-keys': Object.fromEntries(keys.map(([name, key], at) => [`${at}=${name}`, { 'openssh-key': key }])),
    }),
    'reservation-id': host_id,
    ...(tags.length > 0 && {
      tags: { instance: Object.fromEntries(tags.map(([name, value]) => [name, textOf(value)])) },
    }),
  };
}

function nicFolder(
  { mac_address, addresses, prefix }: Instance['interfaces'][number],
  { at, hostname }: { at: number; hostname: string },
): Folder {
  const [v4, v6] = [
    addresses.filter((address) => ipFamily(address) === 4),
    addresses.filter((address) => ipFamily(address) === 6),
  ];
  return {
    'device-number': String(at),
    'local-hostname': hostname,
    ...(v4.length > 0 && { 'local-ipv4s': v4.join('\n') }),
    ...(v6.length > 0 && { ipv6s: v6.join('\n') }),
    mac: mac_address,
    ...(v4[0] !== undefined && prefix !== null && { 'subnet-ipv4-cidr-block': networkOf(v4[0], prefix) }),
  };
}

function networkOf(address: string, prefix: number): string {
  const whole = address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
  const size = 2 ** Math.max(0, 32 - prefix);
  const first = Math.floor(whole / size) * size;
  return `${[24, 16, 8, 0].map((shift) => Math.floor(first / 2 ** shift) % 256).join('.')}/${prefix}`;
}

/** In EC2's form, without its signature. */
function identityDocument(instance: OpenInstance, region: string): JsonObject {
  const ipv4 = nicsOf(instance)
    .flatMap(({ addresses }) => addresses)
    .find((address) => ipFamily(address) === 4);
  return {
    accountId: instance.project,
    architecture: instance.architecture,
    availabilityZone: instance.availability_zone,
    imageId: instance.image,
    instanceId: instance.host_id,
    instanceType: instance.resource_class,
    pendingTime: instance.since,
    privateIp: ipv4 ?? null,
    region,
    version: '2017-09-30',
  };
}

function openstackFiles(instance: OpenInstance): Folder {
  const files: Folder = {
    'meta_data.json': JSON.stringify(metaData(instance)),
    ...(instance.user_data !== '' && { user_data: instance.user_data }),
    'vendor_data.json': '{}',
    'vendor_data2.json': '{}',
    ...(instance.network_data && { 'network_data.json': JSON.stringify(instance.network_data) }),
  };
  return Object.fromEntries(openstackVersions.map((version) => [version, files]));
}

function nocloudFiles(instance: OpenInstance): Folder {
  const keys = publicKeys(instance.metadata).map(([, key]) => key);
  const network = instance.network_data && networkConfig(instance.network_data);
  // JSON is YAML.
  return {
    'meta-data': lines({
      'instance-id': instance.host_id,
      'local-hostname': instance.hostname,
      ...(keys.length > 0 && { 'public-keys': keys }),
    }),
    'user-data': instance.user_data,
    'vendor-data': '',
    ...(network && { 'network-config': lines(network) }),
  };
}

/** An instance with its secrets open. */
export const openInstance = (instance: Instance, open: <T extends Json>(value: T) => T): OpenInstance => {
  const userData = open(instance.user_data);
  const metadata = open(instance.metadata);
  return {
    ...instance,
    user_data: typeof userData === 'string' ? userData : JSON.stringify(userData),
    metadata: isObject(metadata) ? metadata : {},
  };
};
