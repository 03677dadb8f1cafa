/** The types whose resources are stacks of their own, and those that belong to groups that scale. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { nestedKind } from '../nested/describe.ts';
import { awsTypes } from './aws.ts';
import { groupTypes } from './group.ts';
import { oneOf } from './schema.ts';
import { softwareConfigTypes } from './software-config.ts';

const all: readonly ResourceType[] = [...groupTypes, ...awsTypes, ...softwareConfigTypes];

/** The engine runs them itself. */
export const nestedTypes: readonly ResourceType[] = all.filter(({ type }) => nestedKind(type, false) !== undefined);

/** As they are run in a region: a remote stack is made nowhere else. */
export function nestedTypesIn(region: string): ResourceType[] {
  return nestedTypes.map((type) => {
    const { context } = type.properties;
    const named = context?.schema?.['region_name'];
    if (type.type !== 'OS::Heat::Stack' || !named) return type;
    const here = { ...named, default: region, constraints: oneOf(region) };
    const properties = {
      ...type.properties,
      context: { ...context, schema: { ...context.schema, region_name: here } },
    };
    return { ...type, properties };
  });
}

/** Policies, and what instances are made after. The reference of a policy of AWS is the address that sets it off. */
export const scalingTypes: readonly ResourceType[] = all.flatMap((type): ResourceType[] => {
  if (type.type === 'AWS::AutoScaling::ScalingPolicy')
    return [{ ...type, actions: ['adopt', 'signal'], reference: 'AlarmUrl' }];
  if (type.type === 'OS::Heat::ScalingPolicy') return [{ ...type, actions: ['adopt', 'signal'] }];
  return type.type === 'AWS::AutoScaling::LaunchConfiguration' ? [{ ...type, actions: ['adopt'] }] : [];
});
