/** Questions to the notification service about machine credentials. */
import { z } from 'zod';
import { call } from '../define.ts';
import { jsonObject } from '../json.ts';
import { metricNameSchema } from './measuring.ts';

/** The rights that a credential may have. Each is limited to one stack and everything nested in it. */
export const credentialRights = ['metrics.post', 'events.read', 'hooks.complete'] as const;
export type CredentialRight = (typeof credentialRights)[number];
const rightsSchema = z.array(z.enum(credentialRights)).min(1);

/** The beginning of every token of a credential. */
export const credentialPrefix = 'anc.';

/** A machine credential without its secret. */
export const credentialViewSchema = z.object({
  id: z.string(),
  name: z.string(),
  project: z.string(),
  can: rightsSchema,
  stack: z.object({ id: z.string(), name: z.string() }),
  group: z
    .string()
    .nullable()
    .meta({ description: 'Path of a group below the stack, which measurements get as label.' }),
  metrics: z.array(z.string()).meta({ description: 'Names that it may post; empty for all.' }),
  status: z.enum(['active', 'disabled', 'expired']),
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime().nullable(),
});
export type CredentialView = z.infer<typeof credentialViewSchema>;

export const credentialCreate = call('credential.create', 'Create a credential for a program.', {
  question: z.object({
    id: z.string(),
    project: z.string(),
    name: z.string().max(255),
    can: rightsSchema,
    stack: z.string().meta({ description: 'Id or name of a stack.' }),
    group: z.string().max(255).optional(),
    metrics: z.array(metricNameSchema).max(100).default([]),
    expires_seconds: z.number().int().positive().optional(),
  }),
  answer: z
    .object({ credential: credentialViewSchema, token: z.string(), access_key: z.string(), secret_key: z.string() })
    .meta({ description: 'The token and the keys are shown here and never again.' }),
});
export const credentialList = call('credential.list', 'List the credentials of a project.', {
  question: z.object({ project: z.string() }),
  answer: z.object({ credentials: z.array(credentialViewSchema) }),
});
export const credentialRevoke = call('credential.revoke', 'Revoke a credential.', {
  question: z.object({ project: z.string(), id: z.string() }),
  answer: z.object({}),
});
export const credentialAuthenticate = call('credential.authenticate', 'Find the credential of a token.', {
  question: z.object({ token: z.string().max(1000) }),
  answer: credentialViewSchema,
});
export const credentialKeys = call('credential.keys', 'Read the key with which a credential signs requests.', {
  question: z.object({ access_key: z.string() }),
  answer: z.object({ credential: credentialViewSchema, secret_key: jsonObject.meta({ description: 'Sealed.' }) }),
});
