/** Handlers of the calls about configs and deployments. */
import { answer, type MessageRoute } from '@anneal/bus/consume/route.ts';
import * as outputCalls from '@anneal/contracts/output.ts';
import * as configCalls from '@anneal/contracts/calls/configs.ts';
import * as deploymentCalls from '@anneal/contracts/calls/deployments.ts';
import { createConfig, deleteConfig } from './deployments/stored/stored-config.ts';
import { listConfigs, showConfig } from './deployments/config-view.ts';
import { readOutput } from './output/read-output.ts';
import { takeReport } from './output/report.ts';
import type { StoredOutputContext } from './contents/stored-output.ts';
import type { NewRunContext } from './deployments/requests/new-run.ts';
import { createDeployment, deleteDeployment, updateDeployment } from './deployments/stored/stored.ts';
import { startRuns } from './deployments/stored/run-on-hosts.ts';
import { listDeployments, metadataOf, showDeployment } from './deployments/view.ts';

export function deploymentRoutes(context: NewRunContext & StoredOutputContext): MessageRoute[] {
  const { service, collections, outputs, acceptances } = context;
  const kept = { collections, outputs, acceptances, secrets: service.secrets };
  return [
    answer(service, configCalls.configList, async ({ data }) => ({ configs: await listConfigs(kept, data) })),
    answer(service, configCalls.configShow, ({ data }) => showConfig(kept, data)),
    answer(service, configCalls.configCreate, (message) => createConfig(context, message)),
    answer(service, configCalls.configDelete, async (message) => {
      await deleteConfig(context, message);
      return {};
    }),
    answer(service, deploymentCalls.deploymentList, async ({ data }) => ({
      deployments: await listDeployments(kept, data),
    })),
    answer(service, deploymentCalls.deploymentShow, ({ data }) => showDeployment(kept, data)),
    answer(service, outputCalls.runReport, ({ data }) => takeReport(context, data)),
    answer(service, outputCalls.outputRead, ({ data }) => readOutput(context, data)),
    answer(service, deploymentCalls.hostMetadata, async ({ data }) => ({ deployments: await metadataOf(kept, data) })),
    answer(service, deploymentCalls.deploymentCreate, (message) => createDeployment(context, message)),
    answer(service, deploymentCalls.deploymentRun, (message) => startRuns(context, message)),
    answer(service, deploymentCalls.deploymentUpdate, (message) => updateDeployment(context, message)),
    answer(service, deploymentCalls.deploymentDelete, async (message) => {
      await deleteDeployment(context, message);
      return {};
    }),
  ];
}
