/** Hands each message of the requests queue to its part of the service. */
import type { Handler } from '@anneal/bus/port.ts';
import { answer, route } from '@anneal/bus/consume/route.ts';
import {
  bootDocumentShow,
  bootExchange,
  bootReport,
  nodeEnrol,
  nodeList,
  nodeMaintenance,
  nodePower,
  nodeProvision,
  nodeRemove,
  nodeShow,
  nodeUpdate,
} from '@anneal/contracts/calls/provisioning.ts';
import { providerRoutes } from '@anneal/provider/routes.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { Boots } from './boot/boots.ts';
import type { Nodes } from './nodes/nodes.ts';
import type { Servers } from './servers/servers.ts';

export function provisioningHandler(
  context: ServiceContext,
  { servers, nodes, boots }: { servers: Servers; nodes: Nodes; boots: Boots },
): Handler {
  return route([
    ...providerRoutes({
      take: (action, message) => servers.take(action, message),
      signal: (message) => servers.take('signal', message),
    }),
    answer(context, nodeEnrol, ({ data }) => nodes.enrol(data)),
    answer(context, nodeList, ({ data }) => nodes.list(data)),
    answer(context, nodeShow, ({ data }) => nodes.show(data.node)),
    answer(context, nodeRemove, async ({ data }) => {
      await nodes.remove(data.node);
      return {};
    }),
    answer(context, nodePower, ({ data }) => nodes.power(data)),
    answer(context, nodeProvision, ({ data }) => nodes.provision(data)),
    answer(context, nodeUpdate, ({ data }) => nodes.update(data)),
    answer(context, nodeMaintenance, ({ data }) => nodes.maintenance(data)),
    answer(context, bootDocumentShow, ({ data }) => boots.document(data.secret)),
    answer(context, bootExchange, ({ data }) => boots.exchange(data)),
    answer(context, bootReport, async ({ data }) => {
      await boots.report(data.token, { status: data.status, message: data.message });
      return {};
    }),
  ]);
}
