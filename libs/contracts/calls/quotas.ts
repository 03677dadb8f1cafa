/** Questions about the quotas of a project. Each service answers for what it stores. */
import { z } from 'zod';
import { call } from '../define.ts';

/** The names of quotas, each with the service that stores what it limits. */
export const quotaServices = {
  stacks: 'scheduling',
  resources: 'scheduling',
  stack_bytes: 'scheduling',
  hosts: 'configuration',
  queues: 'configuration',
  subscriptions: 'notification',
  alarms: 'notification',
  credentials: 'notification',
  series: 'notification',
} as const;
/** The name of a quota. */
export type QuotaName = keyof typeof quotaServices;
/** The names of all quotas. */
export const quotaNames = Object.keys(quotaServices) as QuotaName[];

const nameSchema = z.enum(quotaNames as [QuotaName, ...QuotaName[]]);

/** A quota of a project, with its use. */
export const quotaViewSchema = z.object({
  name: nameSchema,
  limit: z.number().int().nonnegative(),
  default: z.number().int().nonnegative().meta({ description: 'The limit of a project without a quota of its own.' }),
  used: z.number().int().nonnegative(),
});
export type QuotaView = z.infer<typeof quotaViewSchema>;

/** New limits by name; null for the default. */
export const quotaChangesSchema = z.partialRecord(nameSchema, z.number().int().nonnegative().max(1e15).nullable());
export type QuotaChanges = z.infer<typeof quotaChangesSchema>;

const answer = z.object({ quotas: z.array(quotaViewSchema) });

export const quotaShow = call('quota.show', 'Show the limits of a project and what it uses of them.', {
  question: z.object({ project: z.string() }),
  answer,
});
export const quotaSet = call('quota.set', 'Set limits of a project. Names of other services are ignored.', {
  question: z.object({ project: z.string(), limits: quotaChangesSchema }),
  answer,
});
