/**
 * The provider of identity resources. Its promises: P1 to P6 of `libs/provider/provide.ts`, and O1 to O3 of
 * `operator.ts`.
 */
import { openProperties } from '@anneal/runtime/secrets/open.ts';
import type { MessageRoute } from '@anneal/bus/consume/route.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import type { ResourceAction, ResourceUpdate } from '@anneal/contracts/resource.ts';
import { keystoneTypes } from '@anneal/hot/types/openstack/keystone.ts';
import { reply } from '@anneal/provider/accept.ts';
import { responseTo, type Request, type Result } from '@anneal/provider/document.ts';
import { Provider, type WorkingDocument } from '@anneal/provider/provide.ts';
import { announceTypes, providerRoutes } from '@anneal/provider/routes.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import { createTimers, type Timers } from '@anneal/store/timers.ts';
import type { IdentityParts } from '../objects/parts.ts';
import { groupAssignmentKind, userAssignmentKind } from './assignments.ts';
import { catalogServiceKind, domainKind, endpointKind, regionKind } from './catalog.ts';
import type { IdentityKind, WantedObject } from './kind.ts';
import { userGroupKind, projectKind, roleKind } from './objects.ts';
import { requireOperator } from './operator.ts';
import { userKind } from './user.ts';

const kinds: Readonly<Record<string, IdentityKind>> = {
  'OS::Keystone::Domain': domainKind,
  'OS::Keystone::Endpoint': endpointKind,
  'OS::Keystone::Group': userGroupKind,
  'OS::Keystone::GroupRoleAssignment': groupAssignmentKind,
  'OS::Keystone::Project': projectKind,
  'OS::Keystone::Region': regionKind,
  'OS::Keystone::Role': roleKind,
  'OS::Keystone::Service': catalogServiceKind,
  'OS::Keystone::User': userKind,
  'OS::Keystone::UserRoleAssignment': userAssignmentKind,
};

export interface IdentityResources {
  readonly routes: MessageRoute[];
  announce(): Promise<void>;
  stop(): Promise<void>;
}

export async function openIdentityResources(context: ServiceContext, parts: IdentityParts): Promise<IdentityResources> {
  const collection = await context.store.collection<WorkingDocument>({
    name: 'gateway_identity_resources',
    indexes: [],
  });
  let timers: Timers;
  const provider = new Provider<WorkingDocument>({
    context,
    collection,
    timers: () => timers,
    timerOf: ({ id }) => ({ id, data: null }),
    decide: () => Promise.resolve({ kind: 'waiting', ms: 0 }),
    work: ({ action }, request) => provide(parts, action, request),
    forgets: ({ action }) => action === 'delete',
  });
  timers = await createTimers({
    store: context.store,
    collection: 'gateway_identity_timers',
    permission: context.bus.permission,
    now: () => context.now().getTime(),
    fire: ({ id }) => provider.wake(id),
    onError: (error, { id }) =>
      context.log.error({ err: error, resource: id }, 'work on an identity resource failed; retrying'),
  });
  return {
    routes: providerRoutes({
      take: (action, message) => provider.take(action, message),
      signal: async (message) => {
        const { name, type } = message.data.resource;
        const error = new AnnealError('NotSupported', `Cannot signal ${name}: ${type} takes no signals.`);
        await reply(context, message, { response: responseTo('signal', message.data, { kind: 'failed', error }) });
      },
    }),
    announce: () =>
      announceTypes(context, {
        // The name of version 0.1.0, so that this announcement replaces that of the gateway.
        provider: 'anneal.gateway',
        queue: requestsQueue('identity'),
        types: [...keystoneTypes],
      }),
    async stop() {
      await provider.stop();
      await timers.stop();
    },
  };
}

/** The id of an object in Keystone's form. It follows from the id of the resource, which the engine never uses again. */
const idOf = ({ data }: Request): string => data.resource.id.replaceAll('-', '');

async function provide(parts: IdentityParts, action: ResourceAction, request: Request): Promise<Result> {
  const { data } = request;
  const { name, type } = data.resource;
  const kind = kinds[type];
  if (!kind) throw new AnnealError('NotSupported', `The identity service does not serve ${type}.`);
  const id = idOf(request);
  switch (action) {
    case 'create':
    case 'update': {
      if (data.adopt) {
        const text = `Cannot adopt ${name} (${type}): a stack takes over no users, groups, roles and projects that exist.`;
        throw new AnnealError('NotSupported', text);
      }
      await requireOperator(parts.directory, action, request);
      return kind.apply(parts, wishOf(parts.secrets, id, request));
    }
    case 'delete':
      if (data.abandon || !(await kind.owns(parts, id))) return { kind: 'complete' };
      await requireOperator(parts.directory, action, request);
      await kind.remove(parts, id);
      return { kind: 'complete' };
    case 'check': {
      if (await kind.isWhole(parts, wishOf(parts.secrets, id, request))) return { kind: 'complete' };
      return { kind: 'failed', error: new AnnealError('NotFound', `${name} (${type}) does not exist any more.`) };
    }
    default:
      // As in Heat, a suspended stack keeps its users.
      return { kind: 'complete' };
  }
}

function wishOf(secrets: Secrets, id: string, request: Request): WantedObject {
  const { properties, ...rest } = request.data;
  const update = 'changed' in rest ? (rest as unknown as ResourceUpdate) : undefined;
  return {
    id,
    request,
    properties: openProperties(secrets, properties),
    before: update && openProperties(secrets, update.old_properties),
    applies: (property) => !update || update.changed.includes(property),
  };
}
