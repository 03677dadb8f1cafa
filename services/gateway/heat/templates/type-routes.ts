/** Resource types, template versions, and the services behind the gateway. */
import type { Bus } from '@anneal/bus/port.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { requestsQueue, serviceNames } from '@anneal/contracts/queues.ts';
import type { PropertySchema, ResourceType } from '@anneal/contracts/resource-type.ts';
import type { FastifyInstance } from 'fastify';
import type { Ask } from '../../ask.ts';
import { queryBoolean, queryValue } from '../../http/body.ts';
import type { KnownTypes } from './known-types.ts';
import { functionsOf, templateVersions } from './template-versions.ts';
import { cfnTemplateOf, hotTemplateOf } from './type-template.ts';
import { heatError } from '../wording.ts';

export interface TypeRouteOptions {
  ask: Ask;
  bus: Bus;
  now: () => Date;
}

export function typeRoutes(
  scope: FastifyInstance,
  { bus, now, types }: Omit<TypeRouteOptions, 'ask'> & { types: KnownTypes },
): void {
  scope.get('/:project/resource_types', async (request) => {
    const described = queryBoolean(request, 'with_description') ?? false;
    const fits = nameFilter(queryValue(request, 'name'));
    const found = (await types()).filter(({ type }) => fits(type));
    return {
      resource_types: found.map(({ type, description }) =>
        described ? { resource_type: type, description: description ?? null } : type,
      ),
    };
  });

  const typeNamed = async (name: string): Promise<ResourceType> => {
    const found = (await types()).find(({ type }) => type === name);
    if (found) return found;
    throw heatError('NotFound', 'EntityNotFound', `The Resource Type (${name}) could not be found.`);
  };

  scope.get<{ Params: { type: string } }>('/:project/resource_types/:type/template', async (request) => {
    const form = queryValue(request, 'template_type')?.toLowerCase() ?? 'cfn';
    if (form !== 'hot' && form !== 'cfn') {
      throw new AnnealError('InvalidRequest', `template_type must be hot or cfn, not "${form}".`);
    }
    const type = await typeNamed(request.params.type);
    return form === 'hot' ? hotTemplateOf(type) : cfnTemplateOf(type);
  });

  scope.get<{ Params: { type: string } }>('/:project/resource_types/:type', async (request) => {
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

  scope.get('/:project/template_versions', () => ({ template_versions: templateVersions }));
  scope.get<{ Params: { version: string } }>('/:project/template_versions/:version/functions', (request) => {
    const { version } = request.params;
    const found = functionsOf(version, { conditions: queryBoolean(request, 'with_condition_func') ?? false });
    if (!found) throw heatError('NotFound', 'NotFound', `The template version ${version} is not known.`);
    return { template_functions: found };
  });

  scope.get('/:project/build_info', () => ({ api: { revision: 'unknown' }, engine: { revision: 'unknown' } }));

  scope.get('/:project/services', async () => ({
    services: await Promise.all(
      serviceNames.map(async (name, index) => {
        const { consumers } = await bus.queues.measure(requestsQueue(name)).catch(() => ({ consumers: 0 }));
        const id = `00000000-0000-4000-8000-${String(index + 1).padStart(12, '0')}`;
        return {
          id,
          binary: `anneal-${name}`,
          engine_id: id,
          host: name,
          hostname: name,
          topic: requestsQueue(name),
          report_interval: 60,
          created_at: null,
          updated_at: now().toISOString().slice(0, -1),
          deleted_at: null,
          // The gateway takes no requests from the bus. It answers this request, so it is up.
          status: consumers > 0 || name === 'gateway' ? 'up' : 'down',
        };
      }),
    ),
  }));
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
