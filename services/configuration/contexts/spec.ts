/** Reads the properties of a context. */
import { AnnealError, type Mistake } from '@anneal/contracts/errors.ts';
import { isObject, storedProperty, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import type { ResourceRequest } from '@anneal/contracts/resource.ts';
import { isSecret, openProperty, sealLeaves } from '@anneal/runtime/secrets/open.ts';
import { redaction } from '@anneal/runtime/secrets/redact.ts';
import { digestOf, items, strings } from '../configs/derive.ts';
import { valuesOf, type NewRunContext } from '../deployments/requests/new-run.ts';
import { checkOptions } from '../configs/time-limit.ts';
import { readMembers, type MemberSpec } from './data.ts';
import type { ContextConfig, ContextSpec } from './document.ts';

/** @throws AnnealError NotFound for hosts and configs that do not exist, InvalidRequest for two configs of one name */
export async function readSpec(
  context: NewRunContext,
  { resource, properties }: ResourceRequest,
): Promise<ContextSpec> {
  const { secrets } = context.service;
  const members = readMembers(openProperty(secrets, properties, 'members'));
  const isHidden = isSecret(secrets, storedProperty(properties, 'members'));
  await refuseAbsent(context, { resource: resource.name, isHidden }, members);
  const configs: ContextConfig[] = [];
  // The input values stay sealed.
  const given = sealLeaves(secrets, storedProperty(properties, 'configs') ?? null);
  for (const [index, item] of items(given).entries()) {
    const config = await readConfigItem(context, { resource: resource.name, index, item });
    if (configs.some(({ name }) => name === config.name)) {
      const path = `resources.${resource.name}.properties.configs[${index}].name`;
      const message = `two configs have the name ${config.name}`;
      throw new AnnealError('InvalidRequest', `Context ${resource.name}: ${message}. Give one another name.`, {
        mistakes: [{ code: 'Duplicate', path, message }],
      });
    }
    configs.push(config);
  }
  return { members, facts: strings(openProperty(secrets, properties, 'facts')), configs };
}

async function refuseAbsent(
  { collections }: NewRunContext,
  { resource, isHidden }: { resource: string; isHidden: boolean },
  members: readonly MemberSpec[],
): Promise<void> {
  const hosts = await collections.hosts.getMany(members.map(({ host }) => host));
  const there = new Set(hosts.map(({ id }) => id));
  const mistakes: Mistake[] = members
    .filter(({ host }) => !there.has(host))
    .slice(0, 10)
    .map(({ host, roles }) => ({
      code: 'NotFound',
      path: `resources.${resource}.properties.members.${roles[0] ?? ''}`,
      message: `host ${isHidden ? redaction : host} does not exist`,
    }));
  if (mistakes.length === 0) return;
  const text = mistakes.map(({ path, message }) => `${path}: ${message}`).join('; ');
  throw new AnnealError('NotFound', `Members of context ${resource} do not exist: ${text}`, { mistakes });
}

async function readConfigItem(
  context: NewRunContext,
  { resource, index, item }: { resource: string; index: number; item: JsonObject },
): Promise<ContextConfig> {
  const { secrets } = context.service;
  const [id = ''] = strings(secrets.open<Json>(item.config ?? null));
  const found = await context.collections.resources.get(id);
  if (!found?.config) {
    const path = `resources.${resource}.properties.configs[${index}].config`;
    throw new AnnealError(
      'NotFound',
      `Config ${isSecret(secrets, item.config) ? redaction : id} of context ${resource} does not exist.`,
      {
        mistakes: [{ code: 'NotFound', path, message: 'config does not exist' }],
      },
    );
  }
  const { config } = found;
  checkOptions(config.options, resource);
  const values = valuesOf(context, isObject(item.input_values) ? item.input_values : {});
  const [name = found.name] = strings(secrets.open<Json>(item.name ?? null));
  const roles = strings(secrets.open<Json>(item.roles ?? null));
  return { name, ...(roles.length > 0 && { roles }), digest: digestOf(config, values), config, values };
}
