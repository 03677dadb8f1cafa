/** The fields of logins and of the objects of the identity API, as clients write them and the identity service reads them. */
import { z } from 'zod';
import { isPlainName, plainName } from '../plain-name.ts';

/** A name of at most so many characters. */
export const nameField = (most: number) =>
  z
    .string()
    .trim()
    .min(1, `must have 1 to ${most} characters`)
    .max(most, `must have at most ${most} characters`)
    .refine(isPlainName, plainName);

/** A text or null. */
export const textField = z.string().max(65_535).nullable();
/** Tags of a project or a domain. */
export const tagsField = z
  .array(
    z
      .string()
      .min(1)
      .max(255)
      .regex(/^[^/,]*$/, 'must not contain / or ,'),
  )
  .max(80);

const password = z.string().min(1).max(4096);
const domain = z.string().nullable().optional();
const roles = z.array(z.object({ id: z.string().optional(), name: z.string().optional() })).optional();

/** The options of a user, as in Keystone. */
export const userOptionsSchema = z.strictObject({
  ignore_change_password_upon_first_use: z.boolean().nullable().optional(),
  ignore_password_expiry: z.boolean().nullable().optional(),
  ignore_lockout_failure_attempts: z.boolean().nullable().optional(),
  ignore_user_inactivity: z.boolean().nullable().optional(),
  lock_password: z.boolean().nullable().optional(),
  multi_factor_auth_enabled: z.boolean().nullable().optional(),
  multi_factor_auth_rules: z.array(z.array(z.string())).nullable().optional(),
});
/** The fields of a user that a client sets. */
export const userFields = {
  name: nameField(255),
  domain_id: domain,
  enabled: z.boolean().optional(),
  default_project_id: z.string().nullable().optional(),
  description: textField.optional(),
  password: password.nullable().optional(),
  options: userOptionsSchema.optional(),
};

/** The fields of a group of users. */
export const groupFields = { name: nameField(255), domain_id: domain, description: textField.optional() };

/** The fields of a project. */
export const projectFields = {
  name: nameField(64),
  domain_id: domain,
  parent_id: z.string().nullable().optional(),
  description: textField.optional(),
  enabled: z.boolean().optional(),
  /** True for a domain, which `/v3/domains` shows too. */
  is_domain: z.boolean().optional(),
  tags: tagsField.optional(),
  options: z.looseObject({}).optional(),
};

/** The fields of a domain. */
export const domainFields = {
  name: nameField(64),
  description: textField.optional(),
  enabled: z.boolean().optional(),
  tags: tagsField.optional(),
};

/** The fields of a role. */
export const roleFields = {
  name: nameField(255),
  domain_id: domain,
  description: textField.optional(),
  options: z.looseObject({}).optional(),
};

/** The fields of a service in the catalog. */
export const serviceFields = {
  name: z.string().max(255).nullish(),
  type: nameField(255),
  description: textField.optional(),
  enabled: z.boolean().optional(),
};

/** The id of a region, which its creator chooses. */
export const regionId = z.string().max(255).refine(isPlainName, plainName);
/** The fields of a region. */
export const regionFields = {
  id: regionId.optional(),
  description: textField.optional(),
  parent_region_id: z.string().max(255).nullable().optional(),
};

/** The fields of an endpoint in the catalog. */
export const endpointFields = {
  service_id: z.string(),
  interface: z.enum(['public', 'internal', 'admin']),
  url: z.url().max(2048),
  region_id: regionId.nullable().optional(),
  /** The older name of `region_id`. Such a region is created with the endpoint. */
  region: regionId.nullable().optional(),
  enabled: z.boolean().optional(),
};

/** The HTTP methods that an access rule may allow. */
export const accessRuleMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** A rule as a client writes it, or the id of one that the user has. */
export const accessRuleSchema = z.union([
  z.strictObject({ id: z.string().min(1).max(64) }),
  z.strictObject({
    service: z.string().min(1).max(255),
    method: z.enum(accessRuleMethods),
    path: z
      .string()
      .max(225)
      .regex(/^\/[^?#]*$/, 'must begin with /, without a query'),
  }),
]);

/** The fields of an application credential. */
export const applicationCredentialFields = {
  name: nameField(255),
  description: textField.optional(),
  roles,
  expires_at: z.string().nullable().optional(),
  unrestricted: z.boolean().nullable().optional(),
  secret: z.string().min(16, 'must have 16 characters or more').max(4096).nullable().optional(),
  access_rules: z.array(accessRuleSchema).max(100).nullable().optional(),
};

/** The fields of a trust. */
export const trustFields = {
  trustor_user_id: z.string(),
  trustee_user_id: z.string(),
  project_id: z.string(),
  impersonation: z.boolean(),
  roles,
  expires_at: z.string().nullable().optional(),
  remaining_uses: z.number().int().positive().nullable().optional(),
  allow_redelegation: z.literal(false, 'must be false, because trusts cannot be passed on').optional(),
};

/** The fields of a general credential of a user. */
export const credentialFields = {
  type: z.string().min(1).max(255),
  blob: z.string().max(65_535),
  user_id: z.string().optional(),
  project_id: z.string().nullable().optional(),
};

/** An EC2 key of a user in a project. The gateway makes the key itself. */
export const ec2KeyFields = { tenant_id: z.string(), access: z.string(), secret: z.string() };

const naming = z.object({ id: z.string().max(255).optional(), name: z.string().max(255).optional() });
const inDomain = naming.extend({ domain: naming.optional() });
const secret = z.string().max(4096);

/** The body of a login. */
export const authSchema = z.object({
  auth: z.object({
    identity: z.object({
      methods: z.array(z.string()).min(1),
      password: z.object({ user: inDomain.extend({ password: secret }) }).optional(),
      token: z.object({ id: secret }).optional(),
      application_credential: naming.extend({ secret, user: inDomain.optional() }).optional(),
    }),
    scope: z
      .union([
        z.literal('unscoped'),
        z.looseObject({
          project: inDomain.optional(),
          domain: naming.optional(),
          system: z.looseObject({}).optional(),
          unscoped: z.looseObject({}).optional(),
          'OS-TRUST:trust': z.object({ id: z.string().max(255) }).optional(),
        }),
      ])
      .optional(),
  }),
});
/** A login as the client sends it. */
export type Auth = z.infer<typeof authSchema>['auth'];
/** An object that a login names. */
export type Naming = z.infer<typeof naming>;
/** An object that a login names in a domain. */
export type NamedInDomain = z.infer<typeof inDomain>;
