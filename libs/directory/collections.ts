/**
 * The collections of the directory. Their names are those of version 0.1.0, in which the gateway wrote them: processes of
 * two versions work on one directory during an upgrade.
 */
import type { Collection, CollectionDefinition, Document, IndexDefinition, Store } from '@anneal/store/port.ts';
import type {
  AccessRuleDocument,
  ApplicationCredentialDocument,
  DomainDocument,
  EndpointDocument,
  OidcLinkDocument,
  ProjectDocument,
  RegionDocument,
  RoleDocument,
  ServiceDocument,
  StoredCredentialDocument,
  TrustDocument,
  UserDocument,
  UserGroupDocument,
} from './documents.ts';

/** The documents of the directory by their kinds. */
export interface DirectoryDocuments {
  readonly domains: DomainDocument;
  readonly projects: ProjectDocument;
  readonly users: UserDocument;
  readonly groups: UserGroupDocument;
  readonly roles: RoleDocument;
  readonly applicationCredentials: ApplicationCredentialDocument;
  readonly accessRules: AccessRuleDocument;
  readonly trusts: TrustDocument;
  readonly credentials: StoredCredentialDocument;
  readonly services: ServiceDocument;
  readonly endpoints: EndpointDocument;
  readonly regions: RegionDocument;
  readonly oidcLinks: OidcLinkDocument;
}
export type DirectoryKind = keyof DirectoryDocuments;

interface KindOfDirectory extends Pick<CollectionDefinition, 'indexes' | 'listed'> {
  /** The end of the name of the collection. */
  readonly stored: string;
  /** The name of one object for messages, in Keystone's words. */
  readonly one: string;
}

const named: IndexDefinition = { fields: ['domain_id', 'name'], unique: true };
const ofUser: IndexDefinition = { fields: ['user_id'] };

const kinds: Readonly<Record<DirectoryKind, KindOfDirectory>> = {
  domains: { stored: 'domains', one: 'domain', indexes: [{ fields: ['name'], unique: true }] },
  projects: {
    stored: 'projects',
    one: 'project',
    indexes: [named, { fields: ['parent_id'] }],
    listed: ['enabled', 'description'],
  },
  users: { stored: 'users', one: 'user', indexes: [named], listed: ['enabled', 'description'] },
  groups: { stored: 'groups', one: 'group', indexes: [named] },
  roles: { stored: 'roles', one: 'role', indexes: [named] },
  applicationCredentials: {
    stored: 'application_credentials',
    one: 'application_credential',
    indexes: [{ fields: ['user_id', 'name'], unique: true }],
  },
  accessRules: { stored: 'access_rules', one: 'access rule', indexes: [ofUser] },
  trusts: {
    stored: 'trusts',
    one: 'trust',
    indexes: [{ fields: ['trustor_user_id'] }, { fields: ['trustee_user_id'] }],
  },
  credentials: { stored: 'credentials', one: 'credential', indexes: [ofUser, { fields: ['access_hash'] }] },
  services: { stored: 'services', one: 'service', indexes: [] },
  endpoints: { stored: 'endpoints', one: 'endpoint', indexes: [{ fields: ['service_id'] }] },
  regions: { stored: 'regions', one: 'region', indexes: [] },
  oidcLinks: { stored: 'oidc_links', one: 'link of an OpenID user', indexes: [ofUser] },
};

/** Opens each collection. Returns by kind what `make` makes of it: the readers or the writers. */
export async function openCollections<Made extends Readonly<Record<DirectoryKind, unknown>>>(
  store: Store,
  make: (one: string, collection: Collection<Document>) => unknown,
): Promise<Made> {
  const opened = await Promise.all(
    Object.entries(kinds).map(async ([kind, { stored, one, ...definition }]) => {
      const collection = await store.collection<Document>({ name: `gateway_directory_${stored}`, ...definition });
      return [kind, make(one, collection)] as const;
    }),
  );
  return Object.fromEntries(opened) as Made;
}
