/** Deployments in the words of Heat's software deployments. Read-only: stacks make and delete them. */
import { deploymentList, deploymentShow, type DeploymentView } from '@anneal/contracts/configuration.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { FastifyInstance } from 'fastify';
import type { Ask } from '../ask.ts';
import { queryValue } from '../http/body.ts';
import { projectOf } from '../identity/caller.ts';
import { heatTime } from './representation.ts';
import { heatError } from './wording.ts';

export function softwareRoutes(scope: FastifyInstance, { ask }: { ask: Ask }): void {
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

/** Heat has no word for a config that was not run because an earlier one failed: it has failed too. */
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
