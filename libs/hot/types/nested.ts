/** The types whose resources are stacks of their own, and those that belong to groups that scale. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { nestedKind } from '../nested/describe.ts';
import { awsTypes } from './aws.ts';
import { groupTypes } from './group.ts';
import { softwareConfigTypes } from './software-config.ts';

const all: readonly ResourceType[] = [...groupTypes, ...awsTypes, ...softwareConfigTypes];

/** The engine runs them itself. */
export const nestedTypes: readonly ResourceType[] = all.filter(({ type }) => nestedKind(type, false) !== undefined);

/** Policies, and what instances are made after. The reference of a policy of AWS is the address that sets it off. */
export const scalingTypes: readonly ResourceType[] = all.flatMap((type): ResourceType[] => {
  if (type.type === 'AWS::AutoScaling::ScalingPolicy') return [{ ...type, actions: ['signal'], reference: 'AlarmUrl' }];
  if (type.type === 'OS::Heat::ScalingPolicy') return [{ ...type, actions: ['signal'] }];
  return type.type === 'AWS::AutoScaling::LaunchConfiguration' ? [type] : [];
});
