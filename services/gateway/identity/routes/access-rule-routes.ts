/** The access rules of a user: each was written for an application credential, and may be used by others. */
import { createHash } from 'node:crypto';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { z } from 'zod';
import type { Route } from '../../http/route.ts';
import type { accessRuleSchema } from '../access-rules.ts';
import type { Directory } from '../directory/directory.ts';
import type { AccessRule } from '@anneal/directory/documents.ts';
import type { PolicyTarget } from '@anneal/directory/policy.ts';
import { checkedByKind, kindRoutes } from './kind-routes.ts';
import { linkTo, rowSchema, type IdentityOptions } from './shape.ts';

type WantedRule = z.infer<typeof accessRuleSchema>;

/** The form of a rule in an application credential. */
export const ruleForm = ({ id, service, method, path }: AccessRule): JsonObject => ({ id, service, method, path });

/** The user of the path, as the target of a rule. @throws AnnealError NotFound */
export const placeOfUser =
  ({ users }: Directory) =>
  async ({ params }: { params: { readonly user: string } }): Promise<PolicyTarget> => {
    const { id, domain_id } = await users.get(params.user);
    return { userId: id, domainId: domain_id };
  };

const absentRule = (id: string): AnnealError => new AnnealError('NotFound', `Could not find Access Rule: ${id}.`);

/** `/v3/users/{user}/access_rules` */
export const accessRuleRoutes = ({ directory }: IdentityOptions): Route[] => {
  const { accessRules, applicationCredentials } = directory;
  return kindRoutes({
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
    rules: {
      ...checkedByKind,
      list: 'list_application_credentials',
      get: 'get_application_credential',
      delete: 'delete_application_credential',
    },
    place: placeOfUser(directory),
    list: ({ params }) => accessRules.list({ user_id: params.user }),
    async find({ params }) {
      const rule = await accessRules.find(params.rule);
      if (rule?.user_id === params.user) return rule;
      throw absentRule(params.rule);
    },
    async remove({ id, user_id }) {
      const credentials = await applicationCredentials.list({ user_id });
      const using = credentials.find(({ access_rules: rules = [] }) => rules.some((rule) => rule.id === id));
      if (using) {
        throw new AnnealError(
          'Forbidden',
          `Could not delete the access rule ${id}: the application credential ${using.name} uses it.`,
        );
      }
      await accessRules.remove(id);
    },
  });
};

/** The rules that a new application credential names, stored for its user. @throws AnnealError NotFound for an unknown id */
export async function storedRules(
  { accessRules }: Directory,
  user_id: string,
  wanted: readonly WantedRule[],
): Promise<AccessRule[]> {
  const rules: AccessRule[] = [];
  for (const each of wanted) {
    // Equal rules of a user have the same id, so that a repeat makes no other.
    const id =
      'id' in each
        ? each.id
        : createHash('sha256')
            .update(JSON.stringify([user_id, each.service, each.method, each.path]))
            .digest('hex')
            .slice(0, 32);
    const known = await accessRules.find(id);
    if ('id' in each) {
      if (known?.user_id !== user_id) throw absentRule(id);
      rules.push(known);
      continue;
    }
    const { service, method, path } = each;
    rules.push(known ?? (await accessRules.insert({ id, user_id, service, method, path }, 'it exists')));
  }
  return rules.map(({ id, service, method, path }) => ({ id, service, method, path }));
}
