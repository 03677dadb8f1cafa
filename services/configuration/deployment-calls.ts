/** Handlers of the calls about configs and deployments. */
import { answer, type MessageRoute } from '@anneal/bus/consume/route.ts';
import * as contract from '@anneal/contracts/calls/configuration.ts';
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
    answer(service, contract.configList, async ({ data }) => ({ configs: await listConfigs(kept, data) })),
    answer(service, contract.configShow, ({ data }) => showConfig(kept, data)),
    answer(service, contract.configCreate, (message) => createConfig(context, message)),
    answer(service, contract.configDelete, async (message) => {
      await deleteConfig(context, message);
      return {};
    }),
    answer(service, contract.deploymentList, async ({ data }) => ({ deployments: await listDeployments(kept, data) })),
    answer(service, contract.deploymentShow, ({ data }) => showDeployment(kept, data)),
    answer(service, contract.runReport, ({ data }) => takeReport(context, data)),
    answer(service, contract.outputRead, ({ data }) => readOutput(context, data)),
    answer(service, contract.hostMetadata, async ({ data }) => ({ deployments: await metadataOf(kept, data) })),
    answer(service, contract.deploymentCreate, (message) => createDeployment(context, message)),
    answer(service, contract.deploymentRun, (message) => startRuns(context, message)),
    answer(service, contract.deploymentUpdate, (message) => updateDeployment(context, message)),
    answer(service, contract.deploymentDelete, async (message) => {
      await deleteDeployment(context, message);
      return {};
    }),
  ];
}
