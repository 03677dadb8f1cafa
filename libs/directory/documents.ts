/** The documents of the directory: domains, projects, users, groups, roles, credentials, and the catalog of the operator. */
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { Document, Draft } from '@anneal/store/port.ts';

/** A salted hash of a password. */
export interface StoredPassword {
  readonly salt: string;
  readonly hash: string;
}

/** The parts of every named object of Keystone. */
export interface NamedDocument extends Document {
  readonly name: string;
  readonly description: string | null;
  /** Fields that the client added. Keystone stores and returns them without a meaning. */
  readonly extra: JsonObject;
}

export interface DomainDocument extends NamedDocument {
  readonly enabled: boolean;
  readonly tags: readonly string[];
}

export interface ProjectDocument extends NamedDocument {
  readonly domain_id: string;
  /** The project above, or the domain. */
  readonly parent_id: string;
  readonly enabled: boolean;
  readonly tags: readonly string[];
}

/** A role of a user or group on a project, a domain, or the system (`id` is `all`). */
export interface Grant {
  readonly role_id: string;
  readonly on: 'project' | 'domain' | 'system';
  readonly id: string;
  /** Counts in the projects below, and not in the object itself. */
  readonly inherited: boolean;
  /** Set by the mapping of an OpenID provider, whose next login replaces it. */
  readonly from?: 'oidc';
  /** The id of the resource of a stack that granted it, and revokes it at its end. */
  readonly by?: string;
}

export interface UserDocument extends NamedDocument {
  readonly domain_id: string;
  readonly enabled: boolean;
  readonly default_project_id: string | null;
  /** A user without a password cannot log in by password. */
  readonly password: StoredPassword | null;
  readonly options: JsonObject;
  readonly groups: readonly string[];
  readonly grants: readonly Grant[];
  /** Tokens that were issued before this time are no longer valid: the password changed, or the user was disabled. */
  readonly tokens_from: string;
}

/** A new id in Keystone's form. */
export const keystoneId = (newId: () => string): string => newId().replaceAll('-', '');

/** A user without a password, groups and roles. */
export const newUser = (named: Pick<UserDocument, 'id' | 'name' | 'domain_id'>): Draft<UserDocument> => ({
  ...named,
  description: null,
  enabled: true,
  default_project_id: null,
  password: null,
  options: {},
  groups: [],
  grants: [],
  tokens_from: '',
  extra: {},
});

/** The user of a subject at an OpenID provider. The id is a hash of issuer and subject. */
export interface OidcLinkDocument extends Document {
  readonly user_id: string;
}

export interface UserGroupDocument extends NamedDocument {
  readonly domain_id: string;
  readonly grants: readonly Grant[];
}

export interface RoleDocument extends NamedDocument {
  /** Empty for a role of every domain. */
  readonly domain_id: string;
  readonly implies: readonly string[];
}

/** A request that an application credential with rules may send. */
export interface AccessRule {
  readonly id: string;
  /** The type of a service in the catalog. */
  readonly service: string;
  readonly method: string;
  readonly path: string;
}

export interface AccessRuleDocument extends Document, AccessRule {
  readonly id: string;
  readonly user_id: string;
}

/** A secret by which a program logs in for a user, with some of the user's roles in one project. */
export interface ApplicationCredentialDocument extends Document {
  readonly user_id: string;
  readonly name: string;
  readonly description: string | null;
  readonly project_id: string;
  readonly roles: readonly string[];
  readonly secret: StoredPassword;
  readonly expires_at: string | null;
  /** True when its tokens may manage application credentials too. */
  readonly unrestricted: boolean;
  /** The only requests that its tokens may send; absent for all. */
  readonly access_rules?: readonly AccessRule[];
}

/** A trust of Keystone: the trustor lets the trustee log in with some of the trustor's roles in one project. */
export interface TrustDocument extends Document {
  readonly trustor_user_id: string;
  readonly trustee_user_id: string;
  readonly project_id: string;
  /** True when the tokens are those of the trustor, otherwise of the trustee. */
  readonly impersonation: boolean;
  readonly roles: readonly string[];
  readonly expires_at: string | null;
  /** How many more tokens it gives; null for any number. */
  readonly remaining_uses: number | null;
}

/** A secret that the identity API keeps for a user, such as an EC2 key. */
export interface StoredCredentialDocument extends Document {
  readonly type: string;
  readonly user_id: string;
  readonly project_id: string | null;
  /** The sealed text. */
  readonly blob: JsonObject;
  /** The hash of the access key of an EC2 key. Empty for other types. */
  readonly access_hash: string;
}

/** A service that the operator added to the catalog. */
export interface ServiceDocument extends NamedDocument {
  readonly type: string;
  readonly enabled: boolean;
}

/** An address of a service, Anneal's own or an added one. */
export interface EndpointDocument extends Document {
  readonly service_id: string;
  readonly interface: 'public' | 'internal' | 'admin';
  /** May contain `$(project_id)s`, `%(project_id)s` and the like, which the catalog replaces. */
  readonly url: string;
  readonly region_id: string | null;
  readonly enabled: boolean;
  readonly extra: JsonObject;
}

export interface RegionDocument extends Document {
  /** The id of the resource of a stack that created it. */
  readonly by?: string;
  readonly description: string;
  readonly parent_region_id: string | null;
  readonly extra: JsonObject;
}
