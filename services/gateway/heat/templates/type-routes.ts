/** Resource types and template versions. */
import type { PropertySchema, ResourceType } from '@anneal/contracts/resource-type.ts';
import { json } from '@anneal/contracts/json.ts';
import { Pattern, PatternTooSlow } from '@anneal/python/pattern/pattern.ts';
import { z } from 'zod';
import { route, type Route } from '../../http/route.ts';
import type { KnownTypes } from './known-types.ts';
import { functionsOf, templateVersions } from './template-versions.ts';
import { cfnTemplateOf, hotTemplateOf } from './type-template.ts';
import { anyCase } from '../query.ts';
import { heatError } from '../wording.ts';

const supportStatuses = ['UNKNOWN', 'SUPPORTED', 'PROTOTYPE', 'DEPRECATED', 'UNSUPPORTED', 'HIDDEN'] as const;
const flag = z.boolean().default(false);

/** Steps of matching all types against one filter. More would delay the other requests. */
const mostSteps = 200_000;

/**
 * A filter by a regular expression from the start of the name, as in Heat. Its work is bounded, because a client's pattern
 * must not block the process.
 */
const nameFilter = z
  .string()
  .max(200, 'is too complicated')
  .transform((text, check) => {
    try {
      return new Pattern(`^(?:${text})`);
    } catch {
      check.addIssue('is not a regular expression');
      return z.NEVER;
    }
  });

/** The types whose names begin as the filter says. @throws AnnealError InvalidRequest for one that needs too much work */
function filtered(types: readonly ResourceType[], filter: Pattern | undefined): readonly ResourceType[] {
  if (!filter) return types;
  let left = mostSteps;
  const spend = (amount: number): void => {
    left -= amount;
    if (left < 0) throw new PatternTooSlow('it needs too many steps');
  };
  try {
    return types.filter(({ type }) => filter.on(type, { spend, characters: spend }).search() !== undefined);
  } catch (error) {
    if (!(error instanceof PatternTooSlow)) throw error;
    throw heatError('InvalidRequest', 'InvalidRequest', 'The filter by name is too complicated: write a shorter one.');
  }
}

const propertySchema = z.looseObject({
  type: z.string(),
  description: z.string().optional(),
  default: json.optional(),
  required: z.boolean(),
  update_allowed: z.boolean(),
  immutable: z.boolean(),
});

/** The resource types and the versions of the template language. */
export const typeRoutes = (options: { types: KnownTypes }): Route[] => [
  listRoute(options),
  ...oneTypeRoutes(options),
  ...versionRoutes,
];

const listRoute = ({ types }: { types: KnownTypes }): Route =>
  route({
    method: 'GET',
    path: '/{project}/resource_types',
    summary: 'List the resource types.',
    query: z.object({
      with_description: flag,
      name: nameFilter.optional().meta({ description: 'A regular expression, from the beginning of the name.' }),
      support_status: z.enum(supportStatuses).default('SUPPORTED').meta({ description: 'Every type is SUPPORTED.' }),
      version: z
        .string()
        .optional()
        .meta({ description: 'The release since when Heat has a type. No type has one here.' }),
    }),
    answer: z.object({
      resource_types: z.array(
        z.union([z.string(), z.object({ resource_type: z.string(), description: z.string().nullable() })]),
      ),
    }),
    handle: async ({ query: { with_description: isDetailed, name, support_status: status, version } }) => {
      const isEmpty = status !== 'SUPPORTED' || version !== undefined;
      const found = isEmpty ? [] : filtered(await types(), name);
      return {
        resource_types: found.map(({ type, description }) =>
          isDetailed ? { resource_type: type, description: description ?? null } : type,
        ),
      };
    },
  });

function oneTypeRoutes({ types }: { types: KnownTypes }): Route[] {
  const typeNamed = async (name: string): Promise<ResourceType> => {
    const found = (await types()).find(({ type }) => type === name);
    if (found) return found;
    throw heatError('NotFound', 'EntityNotFound', `The Resource Type (${name}) could not be found.`);
  };
  return [
    route({
      method: 'GET',
      path: '/{project}/resource_types/{type}/template',
      summary: 'Write a template that wraps a resource type.',
      query: z.object({ template_type: anyCase(['hot', 'cfn']).default('cfn') }),
      answer: z.looseObject({}),
      handle: async ({ params, query }) => {
        const type = await typeNamed(params.type);
        return query.template_type === 'hot' ? hotTemplateOf(type) : cfnTemplateOf(type);
      },
    }),
    route({
      method: 'GET',
      path: '/{project}/resource_types/{type}',
      summary: 'Show the properties and attributes of a resource type.',
      query: z.object({ with_description: flag }),
      answer: z.object({
        resource_type: z.string(),
        properties: z.record(z.string(), propertySchema),
        attributes: z.record(z.string(), z.object({ description: z.string().optional(), type: z.string().optional() })),
        support_status: z.looseObject({ status: z.string() }),
        description: z.string().nullish(),
      }),
      handle: async ({ params, query }) => {
        const found = await typeNamed(params.type);
        return {
          resource_type: found.type,
          properties: mapValues(found.properties, propertyBody),
          attributes: {
            ...mapValues(found.attributes, ({ type, description }) => ({
              ...(description !== undefined && { description }),
              ...(type !== undefined && { type: type.toLowerCase() }),
            })),
            show: { description: 'Detailed information about resource.', type: 'map' },
          },
          support_status: { status: 'SUPPORTED', message: null, version: null, previous_status: null },
          ...(query.with_description && { description: found.description ?? null }),
        };
      },
    }),
  ];
}

const build = z.object({ revision: z.string() });
const versionRoutes = [
  route({
    method: 'GET',
    path: '/{project}/template_versions',
    summary: 'List the versions of the template language.',
    answer: z.object({
      template_versions: z.array(z.object({ version: z.string(), type: z.string(), aliases: z.array(z.string()) })),
    }),
    handle: () => ({ template_versions: templateVersions }),
  }),
  route({
    method: 'GET',
    path: '/{project}/template_versions/{version}/functions',
    summary: 'List the functions of a version of the template language.',
    query: z.object({ with_condition_func: flag }),
    answer: z.object({ template_functions: z.array(z.object({ functions: z.string(), description: z.string() })) }),
    handle: ({ params: { version }, query }) => {
      const found = functionsOf(version, { conditions: query.with_condition_func });
      if (!found) throw heatError('NotFound', 'NotFound', `The template version ${version} is not known.`);
      return { template_functions: found };
    },
  }),
  route({
    method: 'GET',
    path: '/{project}/build_info',
    summary: 'Show the builds of API and engine.',
    answer: z.object({ api: build, engine: build }),
    handle: () => ({ api: { revision: 'unknown' }, engine: { revision: 'unknown' } }),
  }),
];

const mapValues = <T, R>(record: Readonly<Record<string, T>>, change: (value: T) => R): Record<string, R> =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));

function propertyBody(property: PropertySchema): object {
  const { type, description, constraints, schema } = property;
  return {
    type: type.toLowerCase(),
    ...(description !== undefined && { description }),
    ...(property.default !== undefined && { default: property.default }),
    ...(schema && { schema: mapValues(schema, propertyBody) }),
    required: property.required ?? false,
    ...(constraints && constraints.length > 0 && { constraints }),
    update_allowed: property.update_allowed ?? false,
    immutable: property.immutable ?? false,
  };
}
