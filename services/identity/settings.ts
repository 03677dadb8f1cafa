/** Settings of the identity service. Their names are those of version 0.1.0, in which the gateway was this service, too. */
import { readWebAddress } from '@anneal/contracts/readers/web-address.ts';
import { defineSettings } from '@anneal/runtime/service/settings.ts';
import { z } from 'zod';
import { mappedRoles } from './oidc/claims.ts';

/** https, because the provider's answer decides who logs in; http only for a provider on this machine. */
const isIssuer = (text: string): boolean => {
  const { protocol, hostname } = readWebAddress(text) ?? {};
  if (hostname === undefined) return false;
  return protocol === 'https:' || (protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(hostname));
};

const roleMapping = z
  .string()
  .transform((text, context) => {
    const read = mappedRoles(text);
    if (read) return read;
    context.addIssue('must be roles such as ops=admin@admin,*=reader@web, separated by commas');
    return z.NEVER;
  })
  .default([]);

export const identitySettings = defineSettings({
  adminPassword: {
    env: 'ANNEAL_GATEWAY_ADMIN_PASSWORD',
    schema: z.string().min(8).optional(),
    meaning: 'Password of the user admin. Required at the first start; a later value replaces it.',
    secret: true,
  },
  oidcIssuer: {
    env: 'ANNEAL_GATEWAY_OIDC_ISSUER',
    schema: z
      .string()
      .refine(isIssuer, 'must be an address that begins with https://, or http:// for a provider on this machine')
      .optional(),
    meaning:
      'Issuer of an OpenID provider, e.g. `https://login.example.org/realms/company`: its users log in here too. The provider has to know `<address of the server>/identity/oidc/callback` as an address to come back to. Default: none.',
  },
  oidcClientId: {
    env: 'ANNEAL_GATEWAY_OIDC_CLIENT_ID',
    schema: z.string().min(1).optional(),
    meaning: 'The id of Anneal as a client of the provider.',
  },
  oidcClientSecret: {
    env: 'ANNEAL_GATEWAY_OIDC_CLIENT_SECRET',
    schema: z.string().min(1).optional(),
    meaning: 'The secret of that client. Default: none, as for a public client.',
    secret: true,
  },
  oidcAudience: {
    env: 'ANNEAL_GATEWAY_OIDC_AUDIENCE',
    schema: z.string().min(1).optional(),
    meaning:
      'Another audience than the client id that access tokens for Anneal may have. Programs send such tokens (`v3oidcaccesstoken` and the like).',
    cost: 'Each token of the provider with this audience logs its user in, so no other service may have the same one.',
  },
  oidcScopes: {
    env: 'ANNEAL_GATEWAY_OIDC_SCOPES',
    schema: z
      .string()
      .default('openid profile email')
      .refine((text) => text.split(' ').includes('openid'), 'must contain openid'),
    meaning: 'Scopes that a login asks for, separated by spaces.',
  },
  oidcName: {
    env: 'ANNEAL_GATEWAY_OIDC_NAME',
    schema: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, 'must be letters, digits, _ . and -')
      .refine((name) => name.toLowerCase() !== 'default', 'must not be that of the domain Default')
      .default('oidc'),
    meaning:
      'Name of the provider: on the button of the console, of the domain of its users, and as identity provider in Keystone’s addresses (protocol `openid`).',
  },
  oidcNameClaim: {
    env: 'ANNEAL_GATEWAY_OIDC_NAME_CLAIM',
    schema: z.string().min(1).default('preferred_username'),
    meaning: 'Claim with the name of the user, e.g. `email`. The claim `sub` identifies the user.',
  },
  oidcGroupsClaim: {
    env: 'ANNEAL_GATEWAY_OIDC_GROUPS_CLAIM',
    schema: z.string().min(1).default('groups'),
    meaning:
      'Claim with the groups of the user, e.g. `realm_access.roles`. At each login the user becomes a member of the groups of the domain of the provider that have these names, and of no other there.',
  },
  oidcRoles: {
    env: 'ANNEAL_GATEWAY_OIDC_ROLES',
    schema: roleMapping,
    meaning:
      'Roles that the groups of the claim give in projects, e.g. `ops=admin@admin,web-team=member@web,*=reader@web`; `*` represents every user of the provider. Each login replaces what an earlier one gave. Default: none.',
    cost: 'Who may change groups at the provider decides who has these roles here.',
  },
  oidcUsers: {
    env: 'ANNEAL_GATEWAY_OIDC_USERS',
    schema: z.enum(['create', 'refuse']).default('create'),
    meaning:
      'What happens at the first login: the user is created, or refused unless an operator has created a user of that name in the domain of the provider.',
  },
});
