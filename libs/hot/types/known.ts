/** Every type with a built-in schema, for work without a server. A server accepts the types that providers announce. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { defaultPeriod, withAlarmLimits } from './alarm-limits.ts';
import { aodhTypes } from './openstack/aodh.ts';
import { awsTypes } from './openstack/aws.ts';
import { cinderTypes } from './openstack/cinder.ts';
import { clusterTypes } from './openstack/cluster.ts';
import { configurationTypes } from './configuration.ts';
import { groupTypes } from './group.ts';
import { keystoneTypes } from './openstack/keystone.ts';
import { mistralTypes, workflowTypes } from './openstack/mistral.ts';
import { moreAlarmTypes } from './measuring.ts';
import { neutronBalanceTypes } from './neutron/balance.ts';
import { neutronBaseTypes } from './neutron/base.ts';
import { neutronChainTypes } from './neutron/chain.ts';
import { neutronPolicyTypes } from './neutron/policy.ts';
import { neutronSecurityTypes } from './neutron/security.ts';
import { neutronTunnelTypes } from './neutron/tunnel.ts';
import { neutronTypes } from './neutron/neutron.ts';
import { novaTypes } from './openstack/nova.ts';
import { octaviaTypes } from './openstack/octavia.ts';
import { provisioningTypes } from './provisioning.ts';
import { saharaTypes } from './openstack/sahara.ts';
import { schedulingTypes } from './scheduling.ts';
import { shareTypes } from './openstack/share.ts';
import { softwareConfigTypes } from './software-config.ts';
import { storeTypes } from './openstack/store.ts';
import { swiftSignalTypes } from './wait-condition.ts';
import { watchTypes } from './openstack/watch.ts';
import { zaqarTypes } from './openstack/zaqar.ts';

/** All types, each once. */
export const knownTypes: readonly ResourceType[] = [
  ...withAlarmLimits([...aodhTypes, ...moreAlarmTypes], defaultPeriod),
  ...awsTypes,
  ...cinderTypes,
  ...clusterTypes,
  ...configurationTypes,
  ...groupTypes,
  ...keystoneTypes,
  ...new Set([...mistralTypes, ...workflowTypes, ...zaqarTypes]),
  ...neutronBalanceTypes,
  ...neutronBaseTypes,
  ...neutronChainTypes,
  ...neutronPolicyTypes,
  ...neutronSecurityTypes,
  ...neutronTunnelTypes,
  ...neutronTypes,
  ...novaTypes,
  ...octaviaTypes,
  ...provisioningTypes,
  ...saharaTypes,
  ...schedulingTypes,
  ...shareTypes,
  ...softwareConfigTypes,
  ...storeTypes,
  ...swiftSignalTypes,
  ...watchTypes,
];
