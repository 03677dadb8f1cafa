/** Every type with a built-in schema, for work without a server. A server accepts the types that providers announce. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { aodhTypes } from './aodh.ts';
import { awsTypes } from './aws.ts';
import { cinderTypes } from './cinder.ts';
import { clusterTypes } from './cluster.ts';
import { configurationTypes } from './configuration.ts';
import { groupTypes } from './group.ts';
import { ironicTypes } from './ironic.ts';
import { keystoneTypes } from './keystone.ts';
import { mistralTypes } from './mistral.ts';
import { neutronBalanceTypes } from './neutron-balance.ts';
import { neutronBaseTypes } from './neutron-base.ts';
import { neutronChainTypes } from './neutron-chain.ts';
import { neutronPolicyTypes } from './neutron-policy.ts';
import { neutronSecurityTypes } from './neutron-security.ts';
import { neutronTunnelTypes } from './neutron-tunnel.ts';
import { neutronTypes } from './neutron.ts';
import { novaTypes } from './nova.ts';
import { octaviaTypes } from './octavia.ts';
import { provisioningTypes } from './provisioning.ts';
import { saharaTypes } from './sahara.ts';
import { schedulingTypes } from './scheduling.ts';
import { shareTypes } from './share.ts';
import { softwareConfigTypes } from './software-config.ts';
import { storeTypes } from './store.ts';
import { swiftSignalTypes } from './wait-condition.ts';
import { watchTypes } from './watch.ts';
import { zaqarTypes } from './zaqar.ts';

export const knownTypes: readonly ResourceType[] = [
  ...aodhTypes,
  ...awsTypes,
  ...cinderTypes,
  ...clusterTypes,
  ...configurationTypes,
  ...groupTypes,
  ...ironicTypes,
  ...keystoneTypes,
  ...mistralTypes,
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
  ...zaqarTypes,
];
