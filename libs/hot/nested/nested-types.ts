/** Types whose resources are nested stacks, and the types that belong to scaling groups. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { nestedKind } from './describe.ts';
import { awsTypes } from '../types/openstack/aws.ts';
import { groupTypes } from '../types/group.ts';
import { ownPolicies, scheduleType } from '../types/scaling.ts';
import { softwareConfigTypes } from '../types/software-config.ts';

const all: readonly ResourceType[] = [...groupTypes, ...awsTypes, ...softwareConfigTypes];

/** Types that the engine runs itself. */
export const nestedTypes: readonly ResourceType[] = all.filter(({ type }) => nestedKind(type, false) !== undefined);

/** The nested types for a region: that in which a remote stack is created. */
export function nestedTypesIn(region: string): ResourceType[] {
  return nestedTypes.map((type) => {
    const { context } = type.properties;
    const named = context?.schema?.['region_name'];
    if (!type.stack || !named) return type;
    const here = { ...named, default: region };
    const properties = {
      ...type.properties,
      context: { ...context, schema: { ...context.schema, region_name: here } },
    };
    return { ...type, properties };
  });
}

/** Scaling policies and launch configurations. The reference of an AWS policy is the address that triggers it. */
export const scalingTypes: readonly ResourceType[] = all.flatMap((type): ResourceType[] => {
  if (type.type === 'AWS::AutoScaling::ScalingPolicy')
    return [{ ...type, actions: ['adopt', 'signal'], reference: 'AlarmUrl' }];
  if (type.type === 'OS::Heat::ScalingPolicy' || ownPolicies.has(type.type))
    return [{ ...type, actions: ['adopt', 'signal'] }];
  return type.type === scheduleType || type.type === 'AWS::AutoScaling::LaunchConfiguration'
    ? [{ ...type, actions: ['adopt'] }]
    : [];
});
