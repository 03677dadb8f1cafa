/** Resource types and template versions. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { PropertySchema, ResourceType } from '@anneal/contracts/resource-type.ts';
import { json } from '@anneal/contracts/json.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { queryBoolean, queryValue } from '../../http/body.ts';
import { described } from '../../http/document.ts';
import type { KnownTypes } from './known-types.ts';
import { functionsOf, templateVersions } from './template-versions.ts';
import { cfnTemplateOf, hotTemplateOf } from './type-template.ts';
import { heatError } from '../wording.ts';

const supportStatuses = ['UNKNOWN', 'SUPPORTED', 'PROTOTYPE', 'DEPRECATED', 'UNSUPPORTED', 'HIDDEN'] as const;
const flag = z.boolean().optional();
const listsTypes = described({
  summary: 'List the resource types.',
  query: z.object({
    with_description: flag,
    name: z.string().optional().meta({ description: 'A regular expression, from the beginning of the name.' }),
    support_status: z.enum(supportStatuses).optional().meta({ description: 'Every type is SUPPORTED.' }),
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
});
const showsTemplate = described({
  summary: 'Write a template that wraps a resource type.',
  query: z.object({ template_type: z.enum(['hot', 'cfn']).optional() }),
  answer: z.looseObject({}),
});
const propertySchema = z.looseObject({
  type: z.string(),
  description: z.string().optional(),
  default: json.optional(),
  required: z.boolean(),
  update_allowed: z.boolean(),
  immutable: z.boolean(),
});
const showsType = described({
  summary: 'Show the properties and attributes of a resource type.',
  query: z.object({ with_description: flag }),
  answer: z.object({
    resource_type: z.string(),
    properties: z.record(z.string(), propertySchema),
    attributes: z.record(z.string(), z.object({ description: z.string().optional(), type: z.string().optional() })),
    support_status: z.looseObject({ status: z.string() }),
    description: z.string().nullish(),
  }),
});
const listsVersions = described({
  summary: 'List the versions of the template language.',
  answer: z.object({
    template_versions: z.array(z.object({ version: z.string(), type: z.string(), aliases: z.array(z.string()) })),
  }),
});
const listsFunctions = described({
  summary: 'List the functions of a version of the template language.',
  query: z.object({ with_condition_func: flag }),
  answer: z.object({ template_functions: z.array(z.object({ functions: z.string(), description: z.string() })) }),
});
const revision = z.object({ revision: z.string() });
const showsBuild = described({
  summary: 'Show the builds of API and engine.',
  answer: z.object({ api: revision, engine: revision }),
});

export function typeRoutes(scope: FastifyInstance, { types }: { types: KnownTypes }): void {
  scope.get('/:project/resource_types', listsTypes, async (request) => {
    const isDetailed = queryBoolean(request, 'with_description') ?? false;
    const fits = nameFilter(queryValue(request, 'name'));
    const isSupported = wantsSupported(request);
    const found = isSupported ? (await types()).filter(({ type }) => fits(type)) : [];
    return {
      resource_types: found.map(({ type, description }) =>
        isDetailed ? { resource_type: type, description: description ?? null } : type,
      ),
    };
  });

  const typeNamed = async (name: string): Promise<ResourceType> => {
    const found = (await types()).find(({ type }) => type === name);
    if (found) return found;
    throw heatError('NotFound', 'EntityNotFound', `The Resource Type (${name}) could not be found.`);
  };

  scope.get<{ Params: { type: string } }>('/:project/resource_types/:type/template', showsTemplate, async (request) => {
    const form = queryValue(request, 'template_type')?.toLowerCase() ?? 'cfn';
    if (form !== 'hot' && form !== 'cfn') {
      throw new AnnealError('InvalidRequest', `template_type must be hot or cfn, not "${form}".`);
    }
    const type = await typeNamed(request.params.type);
    return form === 'hot' ? hotTemplateOf(type) : cfnTemplateOf(type);
  });

  scope.get<{ Params: { type: string } }>('/:project/resource_types/:type', showsType, async (request) => {
    const found = await typeNamed(request.params.type);
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
      ...(queryBoolean(request, 'with_description') && { description: found.description ?? null }),
    };
  });

  scope.get('/:project/template_versions', listsVersions, () => ({ template_versions: templateVersions }));
  scope.get<{ Params: { version: string } }>(
    '/:project/template_versions/:version/functions',
    listsFunctions,
    (request) => {
      const { version } = request.params;
      const found = functionsOf(version, { conditions: queryBoolean(request, 'with_condition_func') ?? false });
      if (!found) throw heatError('NotFound', 'NotFound', `The template version ${version} is not known.`);
      return { template_functions: found };
    },
  );

  scope.get('/:project/build_info', showsBuild, () => ({
    api: { revision: 'unknown' },
    engine: { revision: 'unknown' },
  }));
}

/** Whether the filters of a list leave in the types here, which are supported and have no version. */
function wantsSupported(request: FastifyRequest): boolean {
  const status = queryValue(request, 'support_status') ?? 'SUPPORTED';
  if (!supportStatuses.some((each) => each === status)) {
    const message = `Invalid support status and should be one of ${supportStatuses.join(', ')}`;
    throw heatError('InvalidRequest', 'Invalid', message);
  }
  return status === 'SUPPORTED' && queryValue(request, 'version') === undefined;
}

/** Matches a regular expression from the start of the name, as in Heat. */
function nameFilter(pattern: string | undefined): (name: string) => boolean {
  if (pattern === undefined) return () => true;
  // A client's pattern must not block the process, so accept only patterns that cannot backtrack far.
  if (pattern.length > 200 || /[+*}]\)?[+*{]|\(.*[+*].*\)[+*{]|\\[1-9]/.test(pattern)) {
    throw new AnnealError('InvalidRequest', `The name filter "${pattern.slice(0, 200)}" is too complicated.`);
  }
  try {
    const expression = new RegExp(`^(?:${pattern})`);
    return (name) => expression.test(name);
  } catch (error) {
    throw new AnnealError('InvalidRequest', `The name filter "${pattern}" is not a regular expression.`, {
      cause: error,
    });
  }
}

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
