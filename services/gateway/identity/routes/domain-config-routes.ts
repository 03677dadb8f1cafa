/**
 * The configurations of domains: options that the operator keeps for services beside Anneal, which fetch them. Anneal's
 * own users and groups are in its directory, whatever the options say.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { described } from '../../http/document.ts';
import { parseField } from '../../http/input.ts';
import type { DomainConfig, DomainDocument } from '../directory/documents.ts';
import { allow, paramsOf, type IdentityOptions, type IdentityRoutes } from './shape.ts';

const value = z.union([z.string().max(65_535), z.number(), z.boolean(), z.null(), z.array(z.string().max(65_535))]);
const optionsField = z.record(z.string().min(1).max(255), value);
/** Keystone's groups of options. */
const groupNames = ['identity', 'ldap'] as const;
const configField = z.partialRecord(z.enum(groupNames), optionsField);
/** The options of a domain without a configuration. */
const defaults: DomainConfig = { identity: { driver: 'sql', list_limit: null }, ldap: {} };

const answer = z.object({ config: z.record(z.string(), z.unknown()) });
const body = z.object({ config: configField });
const optionBody = z.object({ config: optionsField });

const places = ['', '/:group', '/:group/:option'];
const words = (place: string): string =>
  place.endsWith('option') ? 'an option' : place.endsWith('group') ? 'a group of options' : 'the configuration';

/** `/v3/domains/{id}/config` */
export const domainConfigRoutes: IdentityRoutes = (scope, options) => {
  for (const place of places) {
    defaultRoute(scope, place);
    placeRoutes(scope, options, place);
  }
  const { domains } = options.directory;
  const replaces = described({
    summary: 'Set the configuration of a domain.',
    body,
    status: 201,
    answer,
    also: { 200: answer },
  });
  scope.put('/v3/domains/:id/config', replaces, async (request, reply) => {
    allow(request, 'change_domain_config');
    const { config } = parseField(body, request.body, 'The configuration');
    refuseSecret(config);
    const before = await domains.get(paramsOf(request)['id'] ?? '');
    const { config: set } = await domains.update(before.id, (present) => ({ ...present, config }));
    return reply.code(before.config ? 200 : 201).send({ config: set });
  });
};

function defaultRoute(scope: FastifyInstance, place: string): void {
  const shows = described({ summary: `Show the default of ${words(place)} of domains.`, answer });
  scope.get(`/v3/domains/config${place}/default`, shows, (request) => {
    allow(request, 'get_domain_config');
    return { config: partOf(request, defaults) };
  });
}

function placeRoutes(scope: FastifyInstance, { directory: { domains } }: IdentityOptions, place: string): void {
  const path = `/v3/domains/:id/config${place}`;
  const what = place === '' ? 'the configuration of a domain' : `${words(place)} of a domain`;
  const found = (request: FastifyRequest): Promise<DomainDocument> => domains.get(paramsOf(request)['id'] ?? '');

  scope.get(path, described({ summary: `Show ${what}.`, answer }), async (request) => {
    allow(request, 'get_domain_config');
    const { config } = await found(request);
    return { config: partOf(request, config) };
  });

  const changes = described({
    summary: `Change ${what}.`,
    body: place.endsWith('option') ? optionBody : body,
    answer,
  });
  scope.patch(path, changes, async (request) => {
    allow(request, 'change_domain_config');
    const { id } = await found(request);
    const change = changeOf(request);
    refuseSecret(change);
    const { config } = await domains.update(id, (present) => {
      partOf(request, present.config, 'group');
      return { ...present, config: merged(present.config ?? {}, change) };
    });
    return { config };
  });

  scope.delete(path, described({ summary: `Delete ${what}.` }), async (request, reply) => {
    allow(request, 'change_domain_config');
    const { id } = await found(request);
    await domains.update(id, ({ config, ...present }) => {
      partOf(request, config);
      const rest = without(request, config ?? {});
      return Object.keys(rest).length === 0 ? present : { ...present, config: rest };
    });
    return reply.code(204).send();
  });
}

/**
 * The part of a configuration that the path names, in Keystone's form. `upTo` group: an option may be absent.
 * @throws AnnealError NotFound
 */
function partOf(request: FastifyRequest, config: DomainConfig | undefined, upTo?: 'group'): JsonObject {
  const { group, option } = paramsOf(request);
  const options = group === undefined ? undefined : ownValue(config, group);
  if (!config || (group !== undefined && !options)) throw absent(group ?? 'configuration');
  if (group === undefined || !options) return { ...config };
  if (option === undefined || upTo === 'group') return { [group]: options };
  if (!Object.hasOwn(options, option)) throw absent(`option ${option} in group ${group}`);
  return { [option]: options[option] ?? null };
}

const ownValue = <T>(values: Readonly<Record<string, T>> | undefined, name: string): T | undefined =>
  values && Object.hasOwn(values, name) ? values[name] : undefined;

/** The change in the body, which must be in the group and the option of the path. */
function changeOf(request: FastifyRequest): DomainConfig {
  const { group, option } = paramsOf(request);
  if (group !== undefined && option !== undefined) {
    const { config } = parseField(optionBody, request.body, 'The configuration');
    if (Object.keys(config).join() !== option) throw elsewhere(`the option ${option}`);
    return parseField(body, { config: { [group]: config } }, 'The configuration').config;
  }
  const { config } = parseField(body, request.body, 'The configuration');
  if (group !== undefined && Object.keys(config).join() !== group) throw elsewhere(`the group ${group}`);
  return config;
}

const merged = (present: DomainConfig, change: DomainConfig): DomainConfig => ({
  ...present,
  ...Object.fromEntries(
    Object.entries(change).map(([group, given]) => [group, { ...ownValue(present, group), ...given }]),
  ),
});

/** A configuration without the group or option of the path. A group that becomes empty is removed. */
function without(request: FastifyRequest, config: DomainConfig): DomainConfig {
  const { group, option } = paramsOf(request);
  if (group === undefined) return {};
  const { [group]: options = {}, ...others } = config;
  if (option === undefined) return others;
  const { [option]: _removed, ...rest } = options;
  return Object.keys(rest).length === 0 ? others : { ...others, [group]: rest };
}

/** @throws AnnealError InvalidRequest for a password, which every reader of the configuration would see */
function refuseSecret(config: DomainConfig): void {
  if (ownValue(config['ldap'], 'password') === undefined) return;
  throw new AnnealError(
    'InvalidRequest',
    'The configuration of a domain cannot contain ldap.password: Anneal does not log in at LDAP. Keep it where it is used.',
  );
}

const absent = (what: string): AnnealError => new AnnealError('NotFound', `Could not find the ${what} of the domain.`);
const elsewhere = (what: string): AnnealError =>
  new AnnealError('InvalidRequest', `The body must change only ${what}, which the address names.`);
