/**
 * The inputs by which heat-config-notify answers for a run, by signal transport. Their credentials allow answering this
 * run of this host and nothing else.
 */
import type { HostCollector } from '@anneal/contracts/calls/hosts.ts';
import type { HostRequest } from '@anneal/contracts/calls/host-messages.ts';
import { answerQueue } from '@anneal/contracts/queues.ts';
import {
  deploymentSignalTransports,
  type CollectTransport,
  type DeploymentSignalTransport,
} from '@anneal/contracts/transports.ts';
import { signTempUrl } from '@anneal/runtime/secrets/host-keys.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import { signalToken, signedSignalUrl, type SignalGrant } from '@anneal/runtime/secrets/signal-grant.ts';

export interface CollectedHost {
  readonly id: string;
  readonly project: string;
  readonly token: string;
  /** Null for a host without a stack. */
  readonly collector: HostCollector | null;
}

/** A host without a stack has no resource that it could ask Heat for, so it pops its queue. */
export const collectTransportOf = ({ collector }: Pick<CollectedHost, 'collector'>): CollectTransport =>
  collector?.transport ?? 'ZAQAR_MESSAGE';

const following = {
  POLL_SERVER_CFN: 'CFN_SIGNAL',
  POLL_SERVER_HEAT: 'HEAT_SIGNAL',
  POLL_TEMP_URL: 'TEMP_URL_SIGNAL',
  ZAQAR_MESSAGE: 'ZAQAR_SIGNAL',
} as const;

const isTransport = (value: unknown): value is DeploymentSignalTransport =>
  deploymentSignalTransports.some((each) => each === value);

/** The transport of a run. Without a stack there is no resource to signal, so the answer goes to a queue. */
export function signalTransportOf(
  given: unknown,
  { host, inStack }: { host: Pick<CollectedHost, 'collector'>; inStack: boolean },
): DeploymentSignalTransport {
  const transport = isTransport(given) ? given : following[collectTransportOf(host)];
  return transport === 'HEAT_SIGNAL' && !inStack ? 'ZAQAR_SIGNAL' : transport;
}

/** The transport that a request names. Requests of older versions name the queue. */
export function transportIn({ inputs }: Pick<HostRequest, 'inputs'>): DeploymentSignalTransport {
  const named = inputs.find(({ name }) => name === 'deploy_signal_transport')?.value;
  return isTransport(named) ? named : 'ZAQAR_SIGNAL';
}

/** How long a temporary URL outlives the time limit of the stack's action, so that a late answer is recognised. */
const lateSeconds = 86_400;

export function signalInputs(
  request: HostRequest,
  where: { host: CollectedHost; gatewayUrl: string; region: string; secrets: Secrets },
): Record<string, string> {
  const { host, gatewayUrl, region, secrets } = where;
  const grant = grantFor(request, host);
  const login = {
    deploy_auth_url: `${gatewayUrl}/identity/v3`,
    deploy_username: grant.resource_id,
    deploy_user_id: grant.resource_id,
    deploy_password: signalToken(secrets, grant),
    deploy_project_id: host.project,
    deploy_region_name: region,
  };
  switch (transportIn(request)) {
    case 'CFN_SIGNAL':
      return {
        deploy_signal_id: signedSignalUrl(gatewayUrl, { secrets, grant, as: 'signal' }),
        deploy_signal_verb: 'POST',
      };
    case 'TEMP_URL_SIGNAL': {
      const expires = Math.ceil(Date.parse(request.deadline) / 1000) + lateSeconds;
      const url = { method: 'PUT', project: host.project, hostId: host.id, object: request.id, expires } as const;
      return { deploy_signal_id: signTempUrl(gatewayUrl, host.token, url), deploy_signal_verb: 'PUT' };
    }
    case 'HEAT_SIGNAL':
      return login;
    case 'ZAQAR_SIGNAL':
      return { ...login, deploy_queue_id: answerQueue(request.id) };
    case 'NO_SIGNAL':
      return {};
  }
}

function grantFor(request: HostRequest, host: CollectedHost): SignalGrant {
  const textOf = (input: string): string => {
    const value = request.inputs.find(({ name }) => name === input)?.value;
    return typeof value === 'string' ? value : '';
  };
  const [stack_name = '', stack_id = ''] = textOf('deploy_stack_id').split('/');
  return {
    project: host.project,
    stack_id,
    stack_name,
    resource_id: request.deployment_id,
    resource_name: textOf('deploy_resource_name'),
    run: { id: request.id, host_id: host.id },
  };
}
