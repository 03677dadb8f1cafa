/**
 * A grant to signal one resource, and nothing else. A wait condition handle, a scaling policy or a deployment gives it
 * to its callers. It is signed, not stored: every process with the keys can verify it. It is valid for one incarnation
 * of the resource; a replacement has another.
 */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { ResourceRequest } from '@anneal/contracts/resource.ts';
import { z } from 'zod';
import type { Secrets } from './secrets.ts';
import { readSignedToken, signedToken, type TokenKind } from './signed-token.ts';

const grantSchema = z.object({
  project: z.string(),
  stack_id: z.string(),
  stack_name: z.string(),
  resource_id: z.string(),
  resource_name: z.string(),
  /** The run of a deployment that the signal answers, and its host. A later run of the deployment has another grant. */
  run: z.object({ id: z.string(), host_id: z.string() }).optional(),
});
/** The permission to signal one resource, which its signal URL carries. */
export type SignalGrant = z.infer<typeof grantSchema>;

/** The grant for the resource of a request to its provider. */
export const grantOf = ({ data, project = '' }: Envelope<ResourceRequest>): SignalGrant => ({
  project,
  stack_id: data.stack.id,
  stack_name: data.stack.name,
  resource_id: data.resource.id,
  resource_name: data.resource.name,
});

const kind: TokenKind = { kind: 'signal', signedText: (body) => body };

/** Safe in headers and queries. */
export const signalToken = (secrets: Secrets, grant: SignalGrant): string =>
  signedToken(secrets, kind, grantSchema.parse(grant));

/** Undefined when the text is not a grant of ours. */
export function readSignalToken(secrets: Secrets, text: string): SignalGrant | undefined {
  const value = readSignedToken(secrets, kind, text);
  return value === undefined ? undefined : grantSchema.parse(value);
}

/** The address for signals to a resource through the API of stacks, with a token. */
export function signalEndpoint(gatewayUrl: string, grant: SignalGrant): string {
  const path = [grant.project, 'stacks', grant.stack_name, grant.stack_id, 'resources', grant.resource_name, 'signal'];
  return `${gatewayUrl}/orchestration/v1/${path.map(encodeURIComponent).join('/')}`;
}

/** An address that allows any holder to signal the resource: POST to `signal`, PUT to `waitcondition`. */
export function signedSignalUrl(
  gatewayUrl: string,
  parameters: { secrets: Secrets; grant: SignalGrant; as: 'signal' | 'waitcondition' },
): string {
  const { secrets, grant, as } = parameters;
  const arn = `arn:openstack:heat::${grant.project}:stacks/${grant.stack_name}/${grant.stack_id}/resources/${grant.resource_name}`;
  return `${gatewayUrl}/cfn/v1/${as}/${encodeURIComponent(arn)}?Signature=${signalToken(secrets, grant)}`;
}

/** The grant in an address of `signedSignalUrl`. */
export function grantOfUrl(secrets: Secrets, url: string): SignalGrant | undefined {
  const token = URL.parse(url)?.searchParams.get('Signature');
  return token == null ? undefined : readSignalToken(secrets, token);
}
