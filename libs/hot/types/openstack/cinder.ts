/** Volumes: schemas, so that templates that name them can be checked offline. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { boolean, checked, integer, listOf, map, oneOf, resourceType, string } from '../schema.ts';

/** Their schemas, which an offline check uses. */
export const cinderTypes: ResourceType[] = [
  resourceType(
    'OS::Cinder::EncryptedVolumeType',
    {
      provider: string({ required: true, update_allowed: true }),
      control_location: string({
        default: 'front-end',
        update_allowed: true,
        constraints: oneOf('front-end', 'back-end'),
      }),
      cipher: string({ update_allowed: true, constraints: oneOf('aes-xts-plain64', 'aes-cbc-essiv') }),
      key_size: integer({ update_allowed: true }),
      volume_type: string({ required: true, constraints: checked('cinder.vtype') }),
    },
    {},
  ),
  resourceType(
    'OS::Cinder::QoSAssociation',
    {
      qos_specs: string({ required: true, constraints: checked('cinder.qos_specs') }),
      volume_types: listOf(string({ constraints: checked('cinder.vtype') }), { required: true, update_allowed: true }),
    },
    {},
  ),
  resourceType('OS::Cinder::QoSSpecs', { name: string(), specs: map({ required: true, update_allowed: true }) }, {}),
  resourceType(
    'OS::Cinder::Quota',
    {
      project: string({ required: true, constraints: checked('keystone.project') }),
      gigabytes: integer({ update_allowed: true, constraints: [{ range: { min: -1 } }] }),
      volumes: integer({ update_allowed: true, constraints: [{ range: { min: -1 } }] }),
      backups: integer({ update_allowed: true, constraints: [{ range: { min: -1 } }] }),
      backup_gigabytes: integer({ update_allowed: true, constraints: [{ range: { min: -1 } }] }),
      snapshots: integer({ update_allowed: true, constraints: [{ range: { min: -1 } }] }),
    },
    {},
  ),
  resourceType(
    'OS::Cinder::Volume',
    {
      availability_zone: string(),
      size: integer({ update_allowed: true, constraints: [{ range: { min: 1 } }] }),
      snapshot_id: string({ constraints: checked('cinder.snapshot') }),
      backup_id: string({ update_allowed: true, constraints: checked('cinder.backup') }),
      name: string({ update_allowed: true }),
      description: string({ update_allowed: true }),
      volume_type: string({ update_allowed: true, constraints: checked('cinder.vtype') }),
      metadata: map({ default: {}, update_allowed: true }),
      imageRef: string(),
      image: string({ constraints: checked('glance.image') }),
      source_volid: string({ constraints: checked('cinder.volume') }),
      scheduler_hints: map(),
      read_only: boolean({ update_allowed: true }),
      multiattach: boolean({ default: false }),
    },
    {
      availability_zone: 'String',
      size: 'String',
      snapshot_id: 'String',
      display_name: 'String',
      display_description: 'String',
      volume_type: 'String',
      metadata: 'String',
      source_volid: 'String',
      status: 'String',
      created_at: 'String',
      bootable: 'String',
      metadata_values: 'Map',
      encrypted: 'String',
      attachments: 'String',
      attachments_list: 'List',
      multiattach: 'Boolean',
    },
    { actions: ['snapshot'] },
  ),
  resourceType(
    'OS::Cinder::VolumeAttachment',
    {
      instance_uuid: string({ required: true, update_allowed: true }),
      volume_id: string({ required: true, update_allowed: true, constraints: checked('cinder.volume') }),
      mountpoint: string({ update_allowed: true }),
    },
    {},
  ),
  resourceType(
    'OS::Cinder::VolumeType',
    {
      name: string({ required: true, update_allowed: true }),
      metadata: map({ update_allowed: true }),
      is_public: boolean({ default: true, update_allowed: true }),
      description: string({ update_allowed: true }),
      projects: listOf(string({ constraints: checked('keystone.project') }), { default: [], update_allowed: true }),
    },
    {},
  ),
];
