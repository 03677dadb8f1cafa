/** Hands each message of the requests queue to its part of the service. */
import type { Handler } from '@anneal/bus/port.ts';
import { answer, routeMessages, type MessageRoute } from '@anneal/bus/consume/route.ts';
import {
  allocationChange,
  allocationCreate,
  allocationList,
  allocationRemove,
  allocationShow,
} from '@anneal/contracts/calls/allocations.ts';
import {
  inspectionRuleChange,
  inspectionRuleCreate,
  inspectionRuleList,
  inspectionRuleRemove,
  inspectionRuleShow,
} from '@anneal/contracts/calls/inspection-rules.ts';
import { assetChange, assetCreate, assetList, assetRemove, assetShow } from '@anneal/contracts/calls/assets.ts';
import {
  bootDocumentShow,
  bootExchange,
  bootFind,
  bootLoad,
  bootImage,
  bootProgress,
  bootReport,
  instanceShow,
} from '@anneal/contracts/calls/boot.ts';
import {
  driverList,
  nodeClearSuspect,
  nodeConfirmOff,
  nodeEnrol,
  nodeHistory,
  nodeList,
  nodeOverview,
  nodeMaintenance,
  nodePower,
  nodeProvision,
  nodeRemove,
  nodeShow,
  nodeUpdate,
} from '@anneal/contracts/calls/nodes.ts';
import {
  imageAdd,
  imageDraftAdd,
  imageDraftShow,
  imageList,
  imageRemove,
  imageShow,
} from '@anneal/contracts/calls/images.ts';
import {
  nodeBootDevice,
  nodeBootDeviceSet,
  nodeInterrupt,
  nodeSensors,
  nodeSettings,
  nodeConsoleLog,
  nodeLightsSet,
  nodeLights,
} from '@anneal/contracts/calls/node-hardware.ts';
import { runbookList, runbookRemove, runbookSet, runbookShow } from '@anneal/contracts/calls/runbooks.ts';
import { providerRoutes } from '@anneal/provider/routes.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { Allocations } from './allocations/allocations.ts';
import type { Assets } from './assets/assets.ts';
import type { Boots } from './boot/boots.ts';
import type { Lights } from './fake/lights.ts';
import type { InspectionRules } from './inspection/rules.ts';
import type { Images } from './images/images.ts';
import type { Instances } from './servers/instances.ts';
import type { Nodes } from './nodes/nodes.ts';
import type { Statements } from './nodes/statements.ts';
import type { Runbooks } from './nodes/plan/runbooks.ts';
import type { Servers } from './servers/servers.ts';

export function provisioningHandler(
  context: ServiceContext,
  parts: {
    servers: Servers;
    nodes: Nodes;
    statements: Statements;
    boots: Boots;
    runbooks: Runbooks;
    images: Images;
    instances: Instances;
    assets: Assets;
    allocations: Allocations;
    lights: Lights;
    rules: InspectionRules;
  },
): Handler {
  const { servers, nodes, statements, boots, runbooks, images, instances, lights } = parts;
  return routeMessages([
    ...assetRoutes(context, parts),
    ...ruleRoutes(context, parts),
    ...providerRoutes({
      take: (action, message) => servers.take(action, message),
      signal: (message) => servers.take('signal', message),
      withdraw: (message, delivery) => servers.withdraw(message, delivery),
    }),
    answer(context, nodeEnrol, ({ data }) => nodes.enrol(data)),
    answer(context, nodeList, ({ data }) => nodes.list(data)),
    answer(context, nodeOverview, ({ data }) => nodes.overview(data)),
    answer(context, nodeShow, ({ data }) => nodes.show(data.node)),
    answer(context, nodeRemove, async ({ data }) => {
      await nodes.remove(data);
      return {};
    }),
    answer(context, nodePower, ({ data }) => nodes.power(data)),
    answer(context, nodeProvision, ({ data }) => nodes.provision(data)),
    answer(context, nodeClearSuspect, ({ data }) => statements.clearSuspect(data)),
    answer(context, nodeConfirmOff, ({ data }) => statements.confirmOff(data)),
    answer(context, nodeUpdate, ({ data }) => nodes.update(data)),
    answer(context, nodeMaintenance, ({ data }) => nodes.maintenance(data)),
    answer(context, nodeBootDevice, ({ data }) => nodes.bootDevice(data.node)),
    answer(context, nodeBootDeviceSet, ({ data }) => nodes.setBootDevice(data)),
    answer(context, nodeInterrupt, ({ data }) => nodes.interrupt(data.node)),
    answer(context, nodeSensors, ({ data }) => nodes.sensors(data.node)),
    answer(context, nodeSettings, ({ data }) => nodes.settings(data.node)),
    answer(context, nodeConsoleLog, ({ data }) => nodes.consoleLog(data)),
    answer(context, nodeLights, ({ data }) => lights.show(data.node)),
    answer(context, nodeLightsSet, ({ data }) => lights.set(data)),
    answer(context, driverList, () => Promise.resolve(nodes.drivers())),
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
    answer(context, bootProgress, ({ data: { token, ...sent } }) => boots.progressed(token, sent)),
    answer(context, bootReport, ({ data: { token, ...report } }) => boots.report(token, report)),
    answer(context, instanceShow, ({ data }) => instances.show(data)),
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

const ruleRoutes = (context: ServiceContext, { rules }: { rules: InspectionRules }): MessageRoute[] => [
  answer(context, inspectionRuleCreate, ({ data }) => rules.create(data)),
  answer(context, inspectionRuleChange, ({ data }) => rules.change(data)),
  answer(context, inspectionRuleList, async () => ({ rules: await rules.list() })),
  answer(context, inspectionRuleShow, ({ data }) => rules.show(data.id)),
  answer(context, inspectionRuleRemove, async ({ data }) => {
    await rules.remove(data.id);
    return {};
  }),
];

const assetRoutes = (
  context: ServiceContext,
  { assets, allocations }: { assets: Assets; allocations: Allocations },
): MessageRoute[] => [
  answer(context, assetCreate, ({ data }) => assets.create(data)),
  answer(context, assetList, ({ data }) => assets.list(data)),
  answer(context, assetShow, ({ data }) => assets.show(data)),
  answer(context, assetChange, ({ data }) => assets.change(data)),
  answer(context, assetRemove, async ({ data }) => {
    await assets.remove(data);
    return {};
  }),
  answer(context, allocationCreate, ({ data }) => allocations.create(data)),
  answer(context, allocationList, ({ data }) => allocations.list(data)),
  answer(context, allocationShow, ({ data }) => allocations.show(data.allocation)),
  answer(context, allocationChange, ({ data }) => allocations.change(data)),
  answer(context, allocationRemove, async ({ data }) => {
    await allocations.remove(data);
    return {};
  }),
];
