/** The types whose resources are stacks, described by their own schemas. */
import type { StackType } from '@anneal/contracts/resource-type.ts';
import { groupTypes } from './group.ts';
import { awsTypes } from './openstack/aws.ts';

const stackTypes: ReadonlyMap<string, StackType> = new Map(
  [...groupTypes, ...awsTypes].flatMap(({ type, stack }) => (stack ? [[type, stack] as const] : [])),
);

/** Where a stack type keeps the parts of its stack; undefined for any other type. */
export const stackTypeOf = (type: string): StackType | undefined => stackTypes.get(type);
