/**
 * A grant to answer one wait at a lifecycle hook, or one decision of a group, and nothing else. The event that reports
 * the wait carries it in an address, so that a listener needs no login. It is signed, not stored, and worthless once the
 * wait has ended, because the wait has a token that no other wait has.
 */
import { z } from 'zod';
import type { Secrets } from './secrets.ts';
import { readSignedToken, signedToken, type TokenKind } from './signed-token.ts';

const grantSchema = z.object({
  project: z.string(),
  /** The stack of the resource; for `deciding`, the stack around the group. */
  stack_id: z.string(),
  resource_name: z.string(),
  hook: z.string(),
  token: z.string(),
});
/** The permission to answer one wait, which its address carries. */
export type HookGrant = z.infer<typeof grantSchema>;

const kind: TokenKind = { kind: 'hook', signedText: (body) => `hook.${body}` };

/** Safe in paths and queries. */
export const hookToken = (secrets: Secrets, grant: HookGrant): string =>
  signedToken(secrets, kind, grantSchema.parse(grant));

/** Undefined when the text is not a grant of ours. */
export const readHookToken = (secrets: Secrets, text: string): HookGrant | undefined =>
  grantSchema.safeParse(readSignedToken(secrets, kind, text)).data;

/** The address for the answer of a listener: POST the result, or POST to `…/heartbeat`. */
export const hookUrl = (gatewayUrl: string, parameters: { secrets: Secrets; grant: HookGrant }): string =>
  `${gatewayUrl}/api/v1/hooks/${hookToken(parameters.secrets, parameters.grant)}`;
