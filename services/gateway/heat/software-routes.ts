/** Configs and deployments in the form of Heat's software configs. Read-only, because stacks create and delete them. */
import {
  configList,
  configShow,
  deploymentList,
  deploymentShow,
  type ConfigView,
  type DeploymentView,
} from '@anneal/contracts/configuration.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { FastifyInstance } from 'fastify';
import type { Ask } from '../ask.ts';
import { queryNumber, queryValue } from '../http/body.ts';
import { projectOf } from '../identity/caller.ts';
import { heatTime } from './representation.ts';
import { heatError } from './wording.ts';

export function softwareRoutes(scope: FastifyInstance, { ask }: { ask: Ask }): void {
  scope.get('/:project/software_configs', async (request) => {
    const project = projectOf(request);
    const limit = queryNumber(request, 'limit', { least: 0, most: 1_000_000 });
    const marker = queryValue(request, 'marker');
    const { configs } = await ask('configuration', configList, { project, data: { project } });
    // Newest first, as in Heat.
    const rows = configs.toReversed();
    const from = marker === undefined ? 0 : rows.findIndex(({ id }) => id === marker) + 1;
    return { software_configs: rows.slice(from, limit ? from + limit : undefined).map(configRow) };
  });

  scope.get<{ Params: { id: string } }>('/:project/software_configs/:id', async (request) => {
    const project = projectOf(request);
    const { id } = request.params;
    const view = await ask('configuration', configShow, { project, data: { project, config: id } }).catch(
      (error: unknown) => {
        if (!(error instanceof AnnealError) || error.code !== 'NotFound') throw error;
        throw heatError('NotFound', 'EntityNotFound', `Software config with id ${id} not found`);
      },
    );
    return { software_config: configBody(view) };
  });

  const list = async (project: string, host: string | undefined): Promise<DeploymentView[]> => {
    const { deployments } = await ask('configuration', deploymentList, {
      project,
      data: { project, ...(host !== undefined && { host }) },
    });
    return deployments;
  };

  scope.get('/:project/software_deployments', async (request) => {
    const deployments = await list(projectOf(request), queryValue(request, 'server_id'));
    return { software_deployments: deployments.map(deploymentBody) };
  });

  scope.get<{ Params: { id: string } }>('/:project/software_deployments/:id', async (request) => {
    const project = projectOf(request);
    const { id } = request.params;
    const view = await ask('configuration', deploymentShow, { project, data: { project, deployment: id } }).catch(
      (error: unknown) => {
        if (!(error instanceof AnnealError) || error.code !== 'NotFound') throw error;
        throw heatError('NotFound', 'EntityNotFound', `Software deployment with id ${id} not found`);
      },
    );
    return { software_deployment: deploymentBody(view) };
  });

  scope.get<{ Params: { server: string } }>('/:project/software_deployments/metadata/:server', async (request) => {
    const deployments = await list(projectOf(request), request.params.server);
    return {
      metadata: deployments
        .toSorted((a, b) => (a.name < b.name ? -1 : 1))
        .map(({ id, name, group, config, input_values, created_at }) => ({
          id,
          name,
          group,
          config,
          inputs: Object.entries(input_values).map(([input, value]) => ({ name: input, type: 'String', value })),
          outputs: [],
          options: {},
          creation_time: heatTime(created_at),
        })),
    };
  });
}

const configRow = ({ id, name, group, created_at }: ConfigView) => ({
  id,
  name,
  group,
  creation_time: created_at === null ? null : heatTime(created_at),
});

const configBody = (view: ConfigView): object => ({
  ...configRow(view),
  config: view.config,
  inputs: view.inputs,
  outputs: view.outputs,
  options: view.options,
});

/**
 * The status in Heat's form. Heat has no status for a config skipped after an earlier failure, so it shows as failed.
 */
const statusOf = ({ status }: DeploymentView): string => (status === 'SKIPPED' ? 'FAILED' : status);

const deploymentBody = (view: DeploymentView): object => ({
  id: view.id,
  server_id: view.host_id,
  config_id: view.id,
  input_values: view.input_values,
  output_values: {
    ...view.output_values,
    deploy_stdout: view.stdout,
    deploy_stderr: view.stderr,
    deploy_status_code: view.status_code,
  },
  action: view.action,
  status: statusOf(view),
  status_reason: view.reason,
  creation_time: heatTime(view.created_at),
  updated_time: view.finished_at === null ? null : heatTime(view.finished_at),
});
