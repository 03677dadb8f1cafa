/** Hands each message of the requests queue to its part of the service. */
import type { Handler } from '@anneal/bus/port.ts';
import { answer, route } from '@anneal/bus/consume/route.ts';
import {
  bootDocumentShow,
  bootExchange,
  bootFind,
  bootLoad,
  bootImage,
  bootReport,
  imageAdd,
  imageDraftAdd,
  imageDraftShow,
  imageList,
  imageRemove,
  imageShow,
  nodeEnrol,
  nodeBootDevice,
  nodeBootDeviceSet,
  nodeHistory,
  nodeSensors,
  nodeList,
  nodeMaintenance,
  nodePower,
  nodeProvision,
  nodeRemove,
  nodeShow,
  nodeUpdate,
  runbookList,
  runbookRemove,
  runbookSet,
  runbookShow,
} from '@anneal/contracts/calls/provisioning.ts';
import { providerRoutes } from '@anneal/provider/routes.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { Boots } from './boot/boots.ts';
import type { Images } from './images/images.ts';
import type { Nodes } from './nodes/nodes.ts';
import type { Runbooks } from './nodes/plan/runbooks.ts';
import type { Servers } from './servers/servers.ts';

export function provisioningHandler(
  context: ServiceContext,
  parts: { servers: Servers; nodes: Nodes; boots: Boots; runbooks: Runbooks; images: Images },
): Handler {
  const { servers, nodes, boots, runbooks, images } = parts;
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
    answer(context, nodeBootDevice, ({ data }) => nodes.bootDevice(data.node)),
    answer(context, nodeBootDeviceSet, ({ data }) => nodes.setBootDevice(data)),
    answer(context, nodeSensors, ({ data }) => nodes.sensors(data.node)),
    answer(context, nodeHistory, ({ data }) => nodes.history(data.node)),
    answer(context, runbookSet, ({ data }) => runbooks.set(data)),
    answer(context, runbookList, ({ data }) => runbooks.list(data)),
    answer(context, runbookShow, ({ data }) => runbooks.show(data)),
    answer(context, runbookRemove, async ({ data }) => {
      await runbooks.remove(data);
      return {};
    }),
    answer(context, bootDocumentShow, ({ data }) => boots.document(data.secret)),
    answer(context, bootLoad, ({ data }) => boots.loaded(data)),
    answer(context, bootFind, ({ data }) => boots.find(data.uuid)),
    answer(context, bootExchange, ({ data }) => boots.exchange(data)),
    answer(context, bootImage, ({ data }) => boots.image(data.token)),
    answer(context, bootReport, ({ data: { token, status, message } }) => boots.report(token, { status, message })),
    answer(context, imageAdd, ({ data }) => images.add(data)),
    answer(context, imageDraftAdd, ({ data }) => images.addDraft(data)),
    answer(context, imageDraftShow, ({ data }) => images.showDraft(data.id)),
    answer(context, imageList, async () => ({ images: await images.list() })),
    answer(context, imageShow, ({ data }) => images.show(data.image)),
    answer(context, imageRemove, async ({ data }) => {
      await images.remove(data.image);
      return {};
    }),
  ]);
}
