/** Images, objects, secrets and databases: schemas, so that templates that name them can be checked offline. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { boolean, checked, integer, list, listOf, map, mapOf, oneOf, resourceType, string } from '../schema.ts';

const networks = listOf(
  mapOf({
    network: string({ constraints: checked('neutron.network') }),
    port: string({ constraints: checked('neutron.port') }),
    fixed_ip: string({ constraints: checked('ip_addr') }),
  }),
  { default: [] },
);

/** Attributes of Barbican's containers. */
const containerAttributes = { status: 'String', container_ref: 'String', secret_refs: 'Map', consumers: 'List' };

/** Their schemas, which an offline check uses. */
export const storeTypes: ResourceType[] = [
  resourceType(
    'OS::Glance::Image',
    {
      name: string(),
      id: string(),
      is_public: boolean({ default: false }),
      min_disk: integer({ default: 0, constraints: [{ range: { min: 0 } }] }),
      min_ram: integer({ default: 0, constraints: [{ range: { min: 0 } }] }),
      protected: boolean({ default: false }),
      disk_format: string({
        required: true,
        constraints: oneOf('ami', 'ari', 'aki', 'vhd', 'vmdk', 'raw', 'qcow2', 'vdi', 'iso'),
      }),
      container_format: string({ required: true, constraints: oneOf('ami', 'ari', 'aki', 'bare', 'ova', 'ovf') }),
      location: string({ required: true }),
      tags: list({ update_allowed: true }),
      extra_properties: map({ default: {}, update_allowed: true }),
      architecture: string({ update_allowed: true }),
      kernel_id: string({
        update_allowed: true,
        constraints: [
          {
            allowed_pattern: '^([0-9a-fA-F]){8}-([0-9a-fA-F]){4}-([0-9a-fA-F]){4}-([0-9a-fA-F]){4}-([0-9a-fA-F]){12}$',
          },
        ],
      }),
      os_distro: string({ update_allowed: true }),
      owner: string({ update_allowed: true }),
      ramdisk_id: string({
        update_allowed: true,
        constraints: [
          {
            allowed_pattern: '^([0-9a-fA-F]){8}-([0-9a-fA-F]){4}-([0-9a-fA-F]){4}-([0-9a-fA-F]){4}-([0-9a-fA-F]){12}$',
          },
        ],
      }),
    },
    {},
  ),
  resourceType(
    'OS::Glance::WebImage',
    {
      name: string(),
      id: string(),
      min_disk: integer({ default: 0, constraints: [{ range: { min: 0 } }] }),
      min_ram: integer({ default: 0, constraints: [{ range: { min: 0 } }] }),
      protected: boolean({ default: false, update_allowed: true }),
      disk_format: string({
        required: true,
        constraints: oneOf('ami', 'ari', 'aki', 'vhd', 'vhdx', 'vmdk', 'raw', 'qcow2', 'vdi', 'iso', 'ploop'),
      }),
      container_format: string({
        required: true,
        constraints: oneOf('ami', 'ari', 'aki', 'bare', 'ovf', 'ova', 'docker'),
      }),
      location: string({ required: true }),
      tags: list({ update_allowed: true }),
      architecture: string({ update_allowed: true }),
      kernel_id: string({
        update_allowed: true,
        constraints: [
          {
            allowed_pattern: '^([0-9a-fA-F]){8}-([0-9a-fA-F]){4}-([0-9a-fA-F]){4}-([0-9a-fA-F]){4}-([0-9a-fA-F]){12}$',
          },
        ],
      }),
      os_distro: string({ update_allowed: true }),
      os_version: string({ update_allowed: true }),
      owner: string({ update_allowed: true }),
      extra_properties: map({ default: {}, update_allowed: true }),
      visibility: string({
        default: 'private',
        update_allowed: true,
        constraints: oneOf('public', 'private', 'community', 'shared'),
      }),
      ramdisk_id: string({
        update_allowed: true,
        constraints: [
          {
            allowed_pattern: '^([0-9a-fA-F]){8}-([0-9a-fA-F]){4}-([0-9a-fA-F]){4}-([0-9a-fA-F]){4}-([0-9a-fA-F]){12}$',
          },
        ],
      }),
      active: boolean({ default: true, update_allowed: true }),
      members: listOf(string(), { update_allowed: true }),
    },
    {},
  ),
  resourceType(
    'OS::Swift::Container',
    {
      name: string(),
      'X-Container-Read': string(),
      'X-Container-Write': string(),
      'X-Container-Meta': map({ default: {} }),
      'X-Account-Meta': map({ default: {} }),
      PurgeOnDelete: boolean({ default: false }),
    },
    {
      DomainName: 'String',
      WebsiteURL: 'String',
      RootURL: 'String',
      ObjectCount: 'Integer',
      BytesUsed: 'Integer',
      HeadContainer: 'Map',
    },
  ),
  resourceType(
    'OS::Barbican::CertificateContainer',
    {
      name: string(),
      certificate_ref: string({ constraints: checked('barbican.secret') }),
      private_key_ref: string({ constraints: checked('barbican.secret') }),
      private_key_passphrase_ref: string({ constraints: checked('barbican.secret') }),
      intermediates_ref: string({ constraints: checked('barbican.secret') }),
    },
    containerAttributes,
  ),
  resourceType(
    'OS::Barbican::GenericContainer',
    {
      name: string(),
      secrets: listOf(
        mapOf({
          name: string({ required: true }),
          ref: string({ required: true, constraints: checked('barbican.secret') }),
        }),
      ),
    },
    containerAttributes,
  ),
  resourceType(
    'OS::Barbican::Order',
    {
      name: string(),
      payload_content_type: string(),
      expiration: string({ constraints: checked('expiration') }),
      algorithm: string(),
      bit_length: integer(),
      mode: string(),
      type: string({ required: true, constraints: oneOf('key', 'asymmetric', 'certificate') }),
      request_type: string({ constraints: oneOf('stored-key', 'simple-cmc', 'custom') }),
      subject_dn: string(),
      source_container_ref: string({ constraints: checked('barbican.container') }),
      ca_id: string(),
      profile: string(),
      request_data: string(),
      pass_phrase: string(),
    },
    {
      status: 'String',
      order_ref: 'String',
      secret_ref: 'String',
      container_ref: 'String',
      public_key: 'String',
      private_key: 'String',
      certificate: 'String',
      intermediates: 'String',
    },
  ),
  resourceType(
    'OS::Barbican::RSAContainer',
    {
      name: string(),
      private_key_ref: string({ constraints: checked('barbican.secret') }),
      private_key_passphrase_ref: string({ constraints: checked('barbican.secret') }),
      public_key_ref: string({ constraints: checked('barbican.secret') }),
    },
    containerAttributes,
  ),
  resourceType(
    'OS::Barbican::Secret',
    {
      name: string(),
      payload: string(),
      secret_type: string({
        default: 'opaque',
        constraints: oneOf('symmetric', 'public', 'private', 'certificate', 'passphrase', 'opaque'),
      }),
      payload_content_type: string({ constraints: oneOf('text/plain', 'application/octet-stream') }),
      payload_content_encoding: string({ constraints: oneOf('base64') }),
      expiration: string({ constraints: checked('expiration') }),
      algorithm: string(),
      bit_length: integer({ constraints: [{ range: { min: 0 } }] }),
      mode: string(),
    },
    { status: 'String', decrypted_payload: 'String' },
  ),
  resourceType(
    'OS::Trove::Cluster',
    {
      name: string({ constraints: [{ length: { max: 255 } }] }),
      datastore_type: string({ required: true, constraints: [{ length: { max: 255 } }] }),
      datastore_version: string({ required: true, constraints: [{ length: { max: 255 } }] }),
      instances: listOf(
        mapOf({
          flavor: string({ required: true, constraints: checked('trove.flavor') }),
          volume_size: integer({ required: true, constraints: [{ range: { min: 1, max: 150 } }] }),
          networks: networks,
          availability_zone: string(),
        }),
        { required: true },
      ),
    },
    { instances: 'List', ip: 'List' },
  ),
  resourceType(
    'OS::Trove::Instance',
    {
      name: string({ update_allowed: true, constraints: [{ length: { max: 255 } }] }),
      flavor: string({ required: true, update_allowed: true, constraints: checked('trove.flavor') }),
      datastore_type: string({ constraints: [{ length: { max: 255 } }] }),
      datastore_version: string({ constraints: [{ length: { max: 255 } }] }),
      size: integer({ required: true, update_allowed: true, constraints: [{ range: { min: 1, max: 150 } }] }),
      networks,
      databases: listOf(
        mapOf({
          character_set: string({ default: 'utf8' }),
          collate: string({ default: 'utf8_general_ci' }),
          name: string({
            required: true,
            constraints: [
              { length: { max: 64 } },
              { allowed_pattern: '[a-zA-Z0-9_\\-]+[a-zA-Z0-9_@?#\\s\\-]*[a-zA-Z0-9_\\-]+' },
            ],
          }),
        }),
        { default: [], update_allowed: true },
      ),
      users: listOf(
        mapOf({
          name: string({
            required: true,
            update_allowed: true,
            constraints: [
              { length: { max: 16 } },
              { allowed_pattern: '[a-zA-Z0-9_]+[a-zA-Z0-9_@?#\\s]*[a-zA-Z0-9_]+' },
            ],
          }),
          password: string({
            required: true,
            update_allowed: true,
            constraints: [{ allowed_pattern: '[a-zA-Z0-9_]+[a-zA-Z0-9_@?#\\s]*[a-zA-Z0-9_]+' }],
          }),
          host: string({ default: '%', update_allowed: true }),
          databases: listOf(string(), { required: true, update_allowed: true, constraints: [{ length: { min: 1 } }] }),
        }),
        { default: [], update_allowed: true },
      ),
      availability_zone: string(),
      restore_point: string(),
      replica_of: string(),
      replica_count: integer(),
    },
    { hostname: 'String', href: 'String' },
  ),
];
