/** Answers questions about hosts and contexts. */
import { setImmediate } from 'node:timers/promises';
import { answer } from '@anneal/bus/consume/route.ts';
import { contextList, contextShow } from '@anneal/contracts/calls/context.ts';
import {
  hostAuthenticate,
  hostBrokerGrant,
  hostBrokerRevoke,
  hostCollect,
  hostCreate,
  hostDelete,
  hostJoin,
  hostJoinExchange,
  hostKeys,
  hostList,
  hostOverview,
  hostRemove,
  hostShow,
  hostsPresent,
  hostTokenRenew,
} from '@anneal/contracts/calls/hosts.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Occasion } from '@anneal/contracts/origin.ts';
import { hostRequestsQueue, hostResponsesQueue } from '@anneal/contracts/queues.ts';
import { derivedId } from '@anneal/runtime/derived-id.ts';
import { sealText } from '@anneal/runtime/secrets/secrets.ts';
import type { z } from 'zod';
import type { HostDocument } from './collections.ts';
import { checkOwnServer, collectMetadata, sealedSettings } from './collectors/collect.ts';
import type { ContextCollections } from './contexts/document.ts';
import { listContexts, showContext } from './contexts/view.ts';
import { deliverWaiting } from './deployments/stored/waiting.ts';
import { abandonRuns } from './deployments/runs/abandon.ts';
import { grantBroker, revokeBroker } from './hosts/grant.ts';
import {
  authenticateHost,
  createHost,
  deleteHost,
  forgetHost,
  hearOf,
  hearOfPresent,
  livingHost,
  noteServer,
  openHostToken,
  renewToken,
  viewHost,
} from './hosts/host.ts';
import { exchangeJoinToken, issueJoinToken, refuseStackHost, returnHost, takeHost } from './hosts/join.ts';
import { pageOfHosts } from './hosts/page.ts';
import { compileSelection } from './hosts/select.ts';
import { countedHosts, countHosts, findSilentHosts } from './hosts/silence.ts';
import { findHost, similarFreeHosts } from './hosts/names.ts';
import { hostsWithRequests } from './hosts/forgotten.ts';
import type { ConfigurationContext } from './parts.ts';

/** Answers questions about hosts, and those of their agents. */
export function hostRoutes(context: ConfigurationContext) {
  const { service, collections } = context;
  /** @throws AnnealError NotFound */
  const existing = async (question: { project?: string | undefined; host: string }) => {
    const host = await findHost(collections, question);
    if (host) return host;
    throw new AnnealError('NotFound', `There is no host ${question.host}.`);
  };
  const remove = async (id: string, occasion?: Occasion): Promise<void> => {
    const host = await deleteHost(context, id);
    if (!host) return;
    await abandonRuns(context, host);
    await forgetHost(context, host, occasion);
  };
  return [
    ...agentRoutes(context),
    answer(service, hostCreate, async ({ data }) => {
      const taken = data.take_joined === true || data.take !== undefined ? await takeHost(context, data) : undefined;
      const { host, token } = taken
        ? { host: taken, token: openHostToken(context, taken) }
        : await createHost(context, data);
      const noted = data.collector || data.place ? await noteServer(context, host, data) : host;
      await deliverWaiting(context, noted);
      return { host: await viewHost(context, noted), token, os_collect_config: sealedSettings(context, noted) };
    }),
    answer(service, hostTokenRenew, async ({ data }) => {
      const { host, token } = await renewToken(context, await existing(data));
      return { host: await viewHost(context, host), token };
    }),
    answer(service, hostBrokerGrant, async ({ data }) => {
      const { host, access } = await grantBroker(context, await existing(data));
      return { host: await viewHost(context, host), access };
    }),
    answer(service, hostBrokerRevoke, async ({ data }) => ({
      host: await viewHost(context, await revokeBroker(context, await existing(data))),
    })),
    answer(service, hostDelete, async ({ data }) => {
      const returned = await returnHost(context, data.id);
      if (returned) await abandonRuns(context, returned);
      else await remove(data.id, data.occasion);
      return {};
    }),
    answer(service, hostRemove, async ({ data }) => {
      const host = await existing(data);
      refuseStackHost(host);
      await remove(host.id);
      return {};
    }),
    answer(service, hostJoin, async ({ data }) => {
      const { host, ...issued } = await issueJoinToken(context, data);
      await deliverWaiting(context, host);
      return { host: await viewHost(context, host), ...issued };
    }),
    answer(service, hostList, ({ data }) => listHosts(context, data)),
    answer(service, hostOverview, async ({ data: { project, ...which } }) => {
      const counted = await Promise.all(
        countedHosts.map(async (group) => [group, await countHosts(collections.hosts, group, { project })] as const),
      );
      const silent = await findSilentHosts(collections.hosts, { project, ...which });
      return {
        counts: Object.fromEntries(counted.filter(([, count]) => count > 0)),
        silent: await Promise.all(silent.map((host) => viewHost(context, host))),
      };
    }),
    answer(service, hostShow, async ({ data }) => {
      const host = await existing(data);
      const view = await viewHost(context, host);
      return data.similar === true ? { ...view, similar: await similarFreeHosts(collections, host) } : view;
    }),
  ];
}

/** A page of hosts, or all those that fit, in the order of their names. */
async function listHosts(
  context: ConfigurationContext,
  data: z.infer<typeof hostList.data>,
): Promise<z.infer<typeof hostList.answer>> {
  const { collections } = context;
  if (data.page) {
    const { documents, ...counts } = await pageOfHosts(collections.hosts, data, data.page);
    return { hosts: await Promise.all(documents.map((host) => viewHost(context, host))), ...counts };
  }
  const hosts = await collections.hosts.find(
    data.project === undefined
      ? { where: { status: { in: ['expected', 'up', 'silent', 'deleting'] } } }
      : { where: { project: data.project }, orderBy: ['name', 'created_at'] },
  );
  const isWanted = data.where === undefined ? () => true : compileSelection(data.where);
  const wanted = [];
  for (const [index, host] of hosts.entries()) {
    if (isWanted(host)) wanted.push(host);
    // Let other work run, because a project may have 100,000 hosts.
    if (data.where !== undefined && index % 100 === 99) await setImmediate();
  }
  return { hosts: await Promise.all(wanted.map((host) => viewHost(context, host))) };
}

/** Answers what agents ask, and gateways for them. */
const agentRoutes = (context: ConfigurationContext) => {
  const { service } = context;
  return [
    answer(service, hostKeys, async ({ data }) => {
      const host = await livingHost(context, data.host_id);
      return { project: host.project, token: sealText(service.secrets, openHostToken(context, host)) };
    }),
    answer(service, hostCollect, async ({ id, data }) => {
      const host = await livingHost(context, data.host_id);
      if (data.as) checkOwnServer(host, data.as);
      await hearOf(context, host);
      const metadata = await collectMetadata(context, host, derivedId(`collect:${id}`, 'a'));
      return { metadata, collector: host.collector ?? null, project: host.project };
    }),
    answer(service, hostJoinExchange, async ({ data }) => {
      const { host, token } = await exchangeJoinToken(context, data);
      return { ...accessOf(host), token };
    }),
    answer(service, hostsPresent, async ({ data, time }) => {
      context.contacts.noteDelay(time, service.now().getTime());
      await hearOfPresent(context, data.host_ids, new Date(service.now().getTime() - data.within_ms));
      if (data.look_in === undefined) return {};
      return { waiting: await hostsWithRequests(context.queues, { project: data.look_in, ids: data.host_ids }) };
    }),
    answer(service, hostAuthenticate, async ({ data }) => {
      const host = await authenticateHost(context, data.token);
      return accessOf(host);
    }),
  ];
};

/** Answers questions about contexts. */
export const contextRoutes = ({ service }: Pick<ConfigurationContext, 'service'>, stored: ContextCollections) => [
  answer(service, contextList, async ({ data }) => ({ contexts: await listContexts(stored, data) })),
  answer(service, contextShow, ({ data }) => showContext(stored, data)),
];

const accessOf = ({ id, name, project }: HostDocument) => ({
  host_id: id,
  name,
  project,
  requests_queue: hostRequestsQueue(id),
  responses_queue: hostResponsesQueue(id),
});
