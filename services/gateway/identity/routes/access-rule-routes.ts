/** The access rules of a user: each was written for an application credential, and may be used by others. */
import type { JsonObject } from '@anneal/contracts/json.ts';
import { absentRule } from '@anneal/directory/absent.ts';
import type { AccessRule } from '@anneal/directory/documents.ts';
import type { PolicyTarget } from '@anneal/directory/policy.ts';
import type { DirectoryReader } from '@anneal/directory/reader.ts';
import { z } from 'zod';
import type { Route } from '../../http/route.ts';
import { kindRoutes } from './kind-routes.ts';
import { linkTo, rowSchema, type IdentityOptions } from './shape.ts';

/** The form of a rule in an application credential. */
export const ruleForm = ({ id, service, method, path }: AccessRule): JsonObject => ({ id, service, method, path });

/** The user of the path, as the target of a rule. @throws AnnealError NotFound */
export const placeOfUser =
  ({ users }: DirectoryReader) =>
  async ({ params }: { params: { readonly user: string } }): Promise<PolicyTarget> => {
    const { id, domain_id } = await users.get(params.user);
    return { userId: id, domainId: domain_id };
  };

/** `/v3/users/{user}/access_rules` */
export const accessRuleRoutes = (options: IdentityOptions): Route[] => {
  const { accessRules } = options.directory;
  return kindRoutes(options, {
    kind: 'access_rule',
    plural: 'access_rules',
    path: '/v3/users/{user}/access_rules/{rule}',
    row: rowSchema({ service: z.string(), method: z.string(), path: z.string() }).meta({ id: 'AccessRule' }),
    form: (request, rule) => ({
      ...ruleForm(rule),
      links: linkTo(request, `users/${rule.user_id}/access_rules/${rule.id}`),
    }),
    fields: {},
    filters: ['service', 'method', 'path'],
    records: accessRules,
    rules: { list: 'list_application_credentials', get: 'get_application_credential' },
    place: placeOfUser(options.directory),
    list: ({ params }) => accessRules.list({ user_id: params.user }),
    async find({ params }) {
      const rule = await accessRules.find(params.rule);
      if (rule?.user_id === params.user) return rule;
      throw absentRule(params.rule);
    },
  });
};
