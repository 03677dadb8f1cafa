/**
 * Objects of every kind by the words of their names, in one answer: for a person who does not know in which list an
 * object is. A kind that the caller may not list is left out.
 */
import { hostList } from '@anneal/contracts/calls/hosts.ts';
import {
  foundObjectsSchema,
  objectKinds,
  type FoundObject,
  type FoundObjects,
  type ObjectKind,
} from '@anneal/contracts/calls/found-objects.ts';
import { subscriptionList } from '@anneal/contracts/calls/subscriptions.ts';
import { imageList } from '@anneal/contracts/calls/images.ts';
import { nodeList } from '@anneal/contracts/calls/nodes.ts';
import { groupList } from '@anneal/contracts/calls/scaling.ts';
import { stackList } from '@anneal/contracts/calls/stacks.ts';
import { cronTriggerList, workflowList } from '@anneal/contracts/calls/workflow.ts';
import { hasCode } from '@anneal/contracts/errors.ts';
import { rowMatcherOf, type PageRequest } from '@anneal/contracts/page.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { projectOf } from '../identity/caller.ts';
import { pageOfProjects, pageOfUsers, type DirectoryOptions } from './directory-endpoints.ts';
import { route, type Route } from '../http/route.ts';
import { pageQuery } from './page-query.ts';
import { pageOfAllQueues, type QueueEndpointOptions } from './queue-endpoints.ts';

const defaultLimit = 20;
const mostOfKind = 100;
const mostGroups = 1000;

export type ObjectEndpointOptions = QueueEndpointOptions & DirectoryOptions;
type Found = Omit<FoundObject, 'kind'>;
type Finder = (request: FastifyRequest, page: PageRequest) => Promise<readonly Found[]>;

const finders = (options: ObjectEndpointOptions): Readonly<Record<ObjectKind, Finder>> => {
  const { ask } = options;
  return {
    async stack(request, page) {
      const project = projectOf(request);
      const { stacks } = await ask('scheduling', stackList, { project, data: { project, page } });
      return stacks.map(named);
    },
    async group(request) {
      const project = projectOf(request);
      const { groups } = await ask('scheduling', groupList, { project, data: { project, limit: mostGroups } });
      return groups.flatMap(({ stack_id: id, path: name, root }) =>
        root ? [{ id, name, stack: root.stack_name }] : [],
      );
    },
    async host(request, page) {
      const project = projectOf(request);
      const { hosts } = await ask('configuration', hostList, { project, data: { project, page } });
      return hosts.map(named);
    },
    async node(_request, page) {
      const { nodes } = await ask('provisioning', nodeList, { data: { page } });
      return nodes.map(({ id, name }) => ({ id, name: name ?? id }));
    },
    async queue(request, page) {
      const { queues } = await pageOfAllQueues(options, request, page);
      return queues.map(({ name }) => ({ id: name, name }));
    },
    async image() {
      const { images } = await ask('provisioning', imageList, { data: {} });
      return images.map(named);
    },
    async workflow(request) {
      const project = projectOf(request);
      return (await ask('scheduling', workflowList, { project, data: { project } })).workflows.map(named);
    },
    async schedule(request) {
      const project = projectOf(request);
      return (await ask('scheduling', cronTriggerList, { project, data: { project } })).cron_triggers.map(named);
    },
    async subscription(request) {
      const project = projectOf(request);
      const { subscriptions } = await ask('notification', subscriptionList, { project, data: { project } });
      return subscriptions.map(({ id, name }) => ({ id, name: name || id }));
    },
    project: async (request, page) => (await pageOfProjects(options, request, page)).documents.map(named),
    user: async (request, page) => (await pageOfUsers(options, request, page)).documents.map(named),
  };
};

const named = ({ id, name }: { id: string; name: string }): Found => ({ id, name });
/** The services search these lists themselves, also in what their rows show beside the name. */
const searched: readonly ObjectKind[] = ['stack', 'host', 'node', 'queue', 'project', 'user'];

export function objectEndpoints(options: ObjectEndpointOptions): Route[] {
  const find = finders(options);
  return [
    route({
      method: 'GET',
      path: '/objects',
      summary:
        'Find objects of every kind, or of one, by words of their names: at most `limit` of each kind. ' +
        'Kinds that the caller may not list are left out.',
      query: z.strictObject({
        find: pageQuery.find,
        kind: z.enum(objectKinds).optional(),
        limit: z.int().positive().max(mostOfKind).default(defaultLimit).meta({
          description: 'The most objects of each kind.',
        }),
      }),
      answer: foundObjectsSchema,
      handle: async ({ request, query: { find: words = '', kind: only, limit } }): Promise<FoundObjects> => {
        const fits = rowMatcherOf(words);
        const unavailable: ObjectKind[] = [];
        const ofKind = async (kind: ObjectKind): Promise<FoundObject[]> => {
          const rows = await find[kind](request, { find: words, limit }).catch((error: unknown): Found[] => {
            if (!hasCode(error, 'Forbidden')) unavailable.push(kind);
            return [];
          });
          return rows
            .filter(({ id, name, stack = '' }) => searched.includes(kind) || fits([name, stack, id]))
            .slice(0, limit)
            .map((row) => ({ kind, ...row }));
        };
        const kinds = only === undefined ? objectKinds : [only];
        return { objects: (await Promise.all(kinds.map(ofKind))).flat(), unavailable };
      },
    }),
  ];
}
