/**
 * Credentials: secrets that the identity API keeps for users, sealed at rest. EC2 keys are those of type `ec2`, and log
 * in by a signed request.
 */
import { credentialFields, ec2KeyFields } from '@anneal/contracts/calls/identity-fields.ts';
import type { IdentityCaller } from '@anneal/contracts/calls/identity.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { rolesIn, scopeOfProject } from '@anneal/directory/access.ts';
import type { StoredCredentialDocument } from '@anneal/directory/documents.ts';
import { accessHash, ec2KeyIn } from '@anneal/directory/ec2-keys.ts';
import { authorize, refuseDelegated } from '@anneal/directory/policy.ts';
import { openText } from '@anneal/runtime/secrets/secrets.ts';
import { decidedByKind, serveKind, type ServedKind } from './kind.ts';
import { insertNew, type IdentityParts } from './parts.ts';

/** A program that acts for a user must not read or change the user's secrets. */
function refuseProgram({ application_credential: credential, trust }: IdentityCaller): void {
  refuseDelegated({ trust, credential }, 'access credentials directly');
}

const hashIn = (type: string, blob: string): string => (type === 'ec2' ? accessHash(ec2KeyIn(blob).access) : '');

const takenKey = 'Duplicate entry found with this access key.';

/** Serves the credentials of all types. */
export function credentialObjects({ directory, secrets }: IdentityParts): ServedKind {
  const { credentials, users, projects } = directory;
  return serveKind({
    title: 'credential',
    fields: credentialFields,
    records: credentials,
    rules: decidedByKind,
    /** As in Keystone, an unknown id is 403 for a user who may read only own ones. */
    async find({ id, caller }) {
      refuseProgram(caller);
      const credential = await credentials.find(id);
      authorize('change_credential', caller, { userId: credential?.user_id });
      if (!credential) throw credentials.absent(id);
      return credential;
    },
    async create({ type, blob, user_id: wanted, project_id = null }, { id, caller }) {
      refuseProgram(caller);
      const user_id = wanted ?? caller.user.id;
      authorize('change_credential', caller, { userId: user_id });
      await users.get(user_id);
      if (project_id !== null) await projects.get(project_id);
      else if (type === 'ec2')
        throw new AnnealError('InvalidRequest', 'project_id is required for a credential of type ec2.');
      const access_hash = hashIn(type, blob);
      const draft = { id: access_hash || id, type, user_id, project_id, access_hash };
      await credentials.insert({ ...draft, blob: secrets.seal(blob) }, takenKey);
    },
    change({ blob: wanted, extra, ...given }, present) {
      const other = Object.entries({ ...given, ...extra }).find(
        ([name, value]) => value !== present[name as keyof StoredCredentialDocument],
      );
      if (other)
        throw new AnnealError('InvalidRequest', `Cannot change ${other[0]}: only the blob of a credential changes.`);
      const blob = wanted ?? openText(secrets, present.blob);
      const access_hash = hashIn(present.type, blob);
      return credentials.update(present.id, (each) => ({ ...each, blob: secrets.seal(blob), access_hash }));
    },
  });
}

/** Serves the EC2 keys of users, which a question names by their access keys. */
export function ec2KeyObjects({ directory, secrets }: IdentityParts): ServedKind {
  const { credentials, users, projects } = directory;
  return serveKind({
    title: 'EC2 key',
    fields: ec2KeyFields,
    records: credentials,
    rules: { ...decidedByKind, create: 'change_credential', delete: 'change_credential' },
    place({ caller, user }) {
      refuseProgram(caller);
      return { userId: user };
    },
    async find({ id: access, user = '' }) {
      const { id } = await users.get(user);
      const key = (await credentials.list({ access_hash: accessHash(access) })).find(({ user_id }) => user_id === id);
      if (!key) throw credentials.absent(access);
      return key;
    },
    async create({ tenant_id, access, secret }, { user: userId = '' }) {
      const user = await users.get(userId);
      const project = await projects.get(tenant_id);
      if ((await rolesIn(directory, user, await scopeOfProject(directory, project))).length === 0) {
        throw projects.absent(tenant_id);
      }
      const blob = secrets.seal(JSON.stringify({ access, secret }));
      const access_hash = accessHash(access);
      const draft = { id: access_hash, type: 'ec2', user_id: user.id, project_id: project.id, blob, access_hash };
      await insertNew(credentials, draft, takenKey);
    },
  });
}
