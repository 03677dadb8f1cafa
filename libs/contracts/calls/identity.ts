/**
 * Questions to the identity service, the only writer of the directory and of tokens. The gateway reads both itself
 * (`libs/directory`), so most answers are empty.
 *
 * Q1 The gateway makes the ids of new objects, and the texts of tokens, of which a question has only the hash. So a
 *    repeated question has no second effect, and no token is in a message.
 * Q2 A question with a password or another secret has it sealed.
 */
import { z } from 'zod';
import { call } from '../define.ts';
import { jsonObject } from '../json.ts';
import { sha256Schema } from '../readers/checksum.ts';

const nothing = z.object({});
const sealed = (description: string) => jsonObject.meta({ description: `Sealed: ${description}` });

/** A request that an application credential with rules may send, with the id of the rule. */
const ruleSchema = z.object({ id: z.string(), service: z.string(), method: z.string(), path: z.string() });

/** The user who asks for a change, with the scope and the roles of the token. The identity service checks the rights. */
export const identityCallerSchema = z.object({
  user: z.object({ id: z.string(), domain_id: z.string() }),
  project: z.object({ id: z.string(), domain_id: z.string() }).optional(),
  domain: z.object({ id: z.string() }).optional().meta({ description: 'Of the project, or the scope itself.' }),
  system: z.boolean(),
  roles: z.array(z.object({ id: z.string(), name: z.string(), domain_id: z.string() })),
  application_credential: z
    .object({ unrestricted: z.boolean(), access_rules: z.array(ruleSchema).optional() })
    .optional(),
  trust: z.object({ id: z.string() }).optional(),
});
export type IdentityCaller = z.infer<typeof identityCallerSchema>;

/** The kinds of objects that clients create, change and delete, each in the same way. */
export const identityKinds = [
  'user',
  'group',
  'project',
  'domain',
  'role',
  'service',
  'endpoint',
  'region',
  'application_credential',
  'access_rule',
  'trust',
  'credential',
  'ec2_key',
] as const;
export type IdentityKindName = (typeof identityKinds)[number];

const object = {
  caller: identityCallerSchema,
  kind: z.enum(identityKinds),
  id: z.string(),
  user: z.string().optional().meta({ description: 'The user that the object belongs to, when the address names one.' }),
};

export const identityObjectCreate = call('identity.object.create', 'Create an object of the identity API.', {
  question: z.object({ ...object, fields: sealed('the object as the client sent it.') }),
  answer: nothing,
});
export const identityObjectChange = call('identity.object.change', 'Change fields of an object of the identity API.', {
  question: z.object({ ...object, fields: sealed('the fields as the client sent them.') }),
  answer: nothing,
});
export const identityObjectRemove = call('identity.object.remove', 'Delete an object of the identity API.', {
  question: z.object(object),
  answer: nothing,
});

/** A token that the gateway gives its client after the answer. */
const newToken = {
  token: sha256Schema.meta({ description: 'The SHA-256 of its text.' }),
  until: z.iso.datetime().meta({ description: 'Its end. A token that is derived from another one ends with that.' }),
};
const from = z.string().meta({ description: 'The address of the client, for which failed attempts are counted.' });

export const identityLogIn = call('identity.login', 'Check a login, and store its token.', {
  question: z.object({ ...newToken, from, auth: sealed('`auth` of the request.') }),
  answer: nothing,
});
export const identityTokenIssue = call(
  'identity.token.issue',
  'Store the token of a user whom the gateway has identified.',
  {
    question: z.object({
      ...newToken,
      user: z.string(),
      project: z.string().nullable(),
      methods: z.array(z.string()),
    }),
    answer: nothing,
  },
);
export const identityTokenRevoke = call('identity.token.revoke', 'End a token and those derived from it.', {
  question: z.object({ token: newToken.token }),
  answer: nothing,
});
export const identityPasswordChange = call('identity.password.change', 'Change the own password of a user.', {
  question: z.object({ user: z.string(), from, passwords: sealed('`original_password` and `password`.') }),
  answer: nothing,
});

const wantedProject = z.string().optional().meta({ description: 'The id or name of the project of the token.' });
export const identityOidcShow = call('identity.oidc.show', 'Name the OpenID provider of this server.', {
  question: nothing,
  answer: z.object({ provider: z.object({ name: z.string() }).nullable() }),
});
export const identityOidcBegin = call('identity.oidc.begin', 'Begin the login of a browser at the OpenID provider.', {
  question: z.object({
    callback: z.url().meta({ description: 'The address to which the provider sends the browser back.' }),
    project: wantedProject,
  }),
  answer: z.object({
    url: z.url(),
    pending: sealed('what only the browser keeps until it comes back.'),
    until: z.iso.datetime(),
  }),
});
export const identityOidcFinish = call('identity.oidc.finish', 'Log in a browser that the OpenID provider sent back.', {
  question: z.object({ ...newToken, address: sealed('the address with the code.'), pending: jsonObject }),
  answer: z.object({
    expired: z.boolean().meta({ description: 'True for a browser that has begun no login lately: there is no token.' }),
  }),
});
export const identityOidcDeviceBegin = call('identity.oidc.device.begin', 'Begin the login of a device.', {
  question: z.object({ from }),
  answer: z.object({ device: sealed('the codes and the addresses for the user, as in RFC 8628.') }),
});
export const identityOidcDeviceFinish = call(
  'identity.oidc.device.finish',
  'Log in a device if its user has confirmed.',
  {
    question: z.object({ ...newToken, from, code: sealed('the code of the device.'), project: wantedProject }),
    answer: z.object({ pending: z.boolean().meta({ description: 'True until the user has confirmed.' }) }),
  },
);
export const identityOidcBearer = call('identity.oidc.bearer', 'Exchange a token of the OpenID provider.', {
  question: z.object({
    ...newToken,
    from,
    provider: z.string(),
    protocol: z.string(),
    bearer: sealed('the token of the provider. Absent when the request has none.').optional(),
  }),
  answer: nothing,
});

const caller = identityCallerSchema;
export const identityMemberSet = call('identity.member.set', 'Add a user to a group, or remove it.', {
  question: z.object({ caller, group: z.string(), user: z.string(), member: z.boolean() }),
  answer: nothing,
});
export const identityImplySet = call('identity.imply.set', 'Make a role imply another one, or end that.', {
  question: z.object({ caller, role: z.string(), implied: z.string(), implies: z.boolean() }),
  answer: nothing,
});
export const identityGrantSet = call('identity.grant.set', 'Grant a role to a user or group, or revoke it.', {
  question: z.object({
    caller,
    holder: z.object({ kind: z.enum(['users', 'groups']), id: z.string() }),
    role: z.string(),
    on: z.enum(['project', 'domain', 'system']),
    id: z.string().meta({ description: 'The project or the domain; `all` for the system.' }),
    inherited: z.boolean(),
    granted: z.boolean(),
  }),
  answer: nothing,
});
export const identityTagsChange = call('identity.tags.change', 'Change the tags of a project.', {
  question: z.object({
    caller,
    project: z.string(),
    change: z.union([
      z.strictObject({ all: z.array(z.string()) }),
      z.strictObject({ add: z.string() }),
      z.strictObject({ remove: z.string() }),
    ]),
  }),
  answer: nothing,
});

const subscription = z.string();
export const identitySubscriberTrustSet = call(
  'identity.subscriber.trust.set',
  'Let the messages of a subscription be posted for its user until a time.',
  {
    question: z.object({
      subscription,
      until: z.iso.datetime(),
      user: z
        .object({ id: z.string(), project: z.string(), roles: z.array(z.string()) })
        .optional()
        .meta({ description: 'Absent to change only the end of the trust that there is.' }),
    }),
    answer: nothing,
  },
);
export const identitySubscriberTrustEnd = call('identity.subscriber.trust.end', 'End the trust of a subscription.', {
  question: z.object({ subscription }),
  answer: nothing,
});
