/**
 * Credentials as resources: `Anneal::Credential`, and the user with an access key that templates of CloudFormation have.
 * A user is only a name: its access key is the credential, which may post measurements.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { storedProperty } from '@anneal/contracts/json.ts';
import { credentialRights } from '@anneal/contracts/calls/credentials.ts';
import type { ResourceAction } from '@anneal/contracts/resource.ts';
import type { Request, Result } from '@anneal/provider/document.ts';
import { ec2SecretOf } from '@anneal/runtime/secrets/host-keys.ts';
import { openProperties } from '@anneal/runtime/secrets/open.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { CredentialStore } from './credentials.ts';

const user = 'AWS::IAM::User';
const accessKey = 'AWS::IAM::AccessKey';
const own = 'Anneal::Credential';
const types: ReadonlySet<string> = new Set([user, accessKey, own]);

export const isCredentialType = (type: string): boolean => types.has(type);

/** Does what a request for a credential asks for. A repeat has no second effect: it gets the same token. */
export async function provideCredential(
  { credentials, secrets }: { readonly credentials: CredentialStore; readonly secrets: Secrets },
  action: ResourceAction,
  { data, project = '' }: Request,
): Promise<Result> {
  const { resource, stack } = data;
  const properties = openProperties(secrets, data.properties);
  // Clients of CloudFormation find a user by its name.
  if (resource.type === user) return { kind: 'complete', physical_id: resource.physical_name };
  switch (action) {
    case 'delete':
      await credentials.remove(resource.id);
      return { kind: 'complete' };
    case 'suspend':
    case 'resume':
      await credentials.enable(resource.id, action === 'resume');
      return { kind: 'complete' };
    case 'create':
    case 'update': {
      const isOwn = resource.type === own;
      const texts = (name: string): string[] =>
        Array.isArray(properties[name]) ? properties[name].filter((each) => typeof each === 'string') : [];
      const { group, expires } = properties;
      const { token } = await credentials.put({
        id: resource.id,
        project,
        name: resource.physical_name,
        can: isOwn ? credentialRights.filter((right) => texts('can').includes(right)) : ['metrics.post'],
        stack: stack.id,
        metrics: texts('metrics'),
        ...(typeof group === 'string' && group !== '' && { group }),
        ...(typeof expires === 'number' && { expiresSeconds: expires }),
        // The same for each repeat and update, so that an update does not invalidate the token.
        secret: secrets.sign(`credential ${resource.id}`),
      });
      const keys = { token: secrets.seal(token), secret_key: secrets.seal(ec2SecretOf(token)) };
      const attributes = isOwn
        ? { ...keys, access_key: resource.id }
        : { UserName: storedProperty(data.properties, 'UserName') ?? '', SecretAccessKey: keys.secret_key };
      return { kind: 'complete', physical_id: resource.id, attributes };
    }
    case 'check':
      if (await credentials.exists(resource.id)) return { kind: 'complete' };
      return { kind: 'failed', error: new AnnealError('NotFound', `The credential ${resource.name} was revoked.`) };
    case 'snapshot':
    case 'cancel':
    case 'signal':
      return { kind: 'failed', error: new AnnealError('NotSupported', `A credential does not support ${action}.`) };
  }
}
