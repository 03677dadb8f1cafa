/** The access rules of a user: each was written for an application credential, and may be used by others. */
import { createHash } from 'node:crypto';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { accessRuleSchema } from '../access-rules.ts';
import type { Directory } from '../directory/directory.ts';
import type { AccessRule, UserDocument } from '../directory/documents.ts';
import { allow, describeKind, linkTo, pageOfList, paramsOf, rowSchema, type IdentityRoutes } from './shape.ts';
import { userAt } from './user-routes.ts';

type WantedRule = z.infer<typeof accessRuleSchema>;

/** The form of a rule in an application credential. */
export const ruleForm = ({ id, service, method, path }: AccessRule): JsonObject => ({ id, service, method, path });

const kind = describeKind({
  kind: 'access_rule',
  plural: 'access_rules',
  row: rowSchema({ service: z.string(), method: z.string(), path: z.string() }).meta({ id: 'AccessRule' }),
  fields: {},
  filters: ['service', 'method', 'path'],
});

/** `/v3/users/{user}/access_rules` */
export const accessRuleRoutes: IdentityRoutes = (scope, options) => {
  const { accessRules, applicationCredentials } = options.directory;
  const all = '/v3/users/:user/access_rules';
  const one = `${all}/:rule`;
  const rowOf = (request: FastifyRequest, rule: AccessRule & { user_id: string }): JsonObject => ({
    ...ruleForm(rule),
    links: linkTo(request, `users/${rule.user_id}/access_rules/${rule.id}`),
  });
  const found = async (request: FastifyRequest, user: UserDocument) => {
    const { rule: id = '' } = paramsOf(request);
    const rule = await accessRules.find(id);
    if (rule?.user_id === user.id) return rule;
    throw new AnnealError('NotFound', `Could not find Access Rule: ${id}.`);
  };

  scope.get(all, kind.lists, async (request) => {
    const user = await userAt(options, request);
    allow(request, 'list_application_credentials', { userId: user.id, domainId: user.domain_id });
    const rows = (await accessRules.list({ user_id: user.id })).map((rule) => rowOf(request, rule));
    return pageOfList(request, 'access_rules', { rows, filters: ['service', 'method', 'path'] });
  });

  scope.get(one, kind.shows, async (request) => {
    const user = await userAt(options, request);
    allow(request, 'get_application_credential', { userId: user.id, domainId: user.domain_id });
    return { access_rule: rowOf(request, await found(request, user)) };
  });

  scope.delete(one, kind.removes, async (request, reply) => {
    const user = await userAt(options, request);
    allow(request, 'delete_application_credential', { userId: user.id, domainId: user.domain_id });
    const { id } = await found(request, user);
    const credentials = await applicationCredentials.list({ user_id: user.id });
    const using = credentials.find(({ access_rules: rules = [] }) => rules.some((rule) => rule.id === id));
    if (using) {
      throw new AnnealError(
        'Forbidden',
        `Could not delete the access rule ${id}: the application credential ${using.name} uses it.`,
      );
    }
    await accessRules.remove(id);
    return reply.code(204).send();
  });
};

/** The rules that a new application credential names, stored for its user. @throws AnnealError NotFound for an unknown id */
export async function storedRules(
  { accessRules }: Directory,
  user: UserDocument,
  wanted: readonly WantedRule[],
): Promise<AccessRule[]> {
  const rules: AccessRule[] = [];
  for (const each of wanted) {
    // Equal rules of a user have the same id, so that a repeat makes no other.
    const id =
      'id' in each
        ? each.id
        : createHash('sha256')
            .update(JSON.stringify([user.id, each.service, each.method, each.path]))
            .digest('hex')
            .slice(0, 32);
    const known = await accessRules.find(id);
    if ('id' in each) {
      if (known?.user_id !== user.id) throw new AnnealError('NotFound', `Could not find Access Rule: ${id}.`);
      rules.push(known);
      continue;
    }
    const { service, method, path } = each;
    rules.push(known ?? (await accessRules.insert({ id, user_id: user.id, service, method, path }, 'it exists')));
  }
  return rules.map(({ id, service, method, path }) => ({ id, service, method, path }));
}
