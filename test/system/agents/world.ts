/** For the conformance suite: a real configuration service and gateway, and an engine that asks for configs on a host. */
import { createRig, project, type Rig } from '@anneal/configuration/testing/running-service.ts';
import { deploymentShow } from '@anneal/contracts/calls/deployments.ts';
import { hostTokenRenew } from '@anneal/contracts/calls/hosts.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { BootSeed } from '@anneal/contracts/calls/boot.ts';
import { gatewayService } from '@anneal/gateway/service.ts';
import { startIdentity } from '@anneal/identity/testing/start-identity.ts';
import type { RunningService } from '@anneal/runtime/service/service.ts';
import { readSettings } from '@anneal/runtime/service/settings.ts';
import { createTestContext, eventually } from '@anneal/runtime/testing.ts';

export interface AgentWorld {
  readonly rig: Rig;
  readonly url: string;
  /** A new host and what its agent needs. */
  host(name: string): Promise<BootSeed>;
  /** Queues a config. Resolves with the id of its deployment when the service has taken it. */
  apply(host: string, script: string, options?: JsonObject): Promise<string>;
  /** Updates a deployment, so that another script replaces the one that waits or runs. */
  replace(deployment: string, host: string, script: string): Promise<void>;
  /** Replaces the token of the host; the old one stops working. */
  renew(host: string): Promise<string>;
  stopGateway(): Promise<void>;
  /** At the same address as before. */
  startGateway(): Promise<void>;
  dispose(): Promise<void>;
}

/** Bytes that the service stores of each stream of a run, and of its outputs. */
export const storedLimit = 1_048_576;

export async function createAgentWorld(): Promise<AgentWorld> {
  const rig = await createRig({ environment: { ANNEAL_CONFIGURATION_OUTPUT_BYTES: String(storedLimit) } });
  const context = await createTestContext({ name: 'gateway', bus: rig.context.bus, store: rig.context.store });
  const identity = await startIdentity(context, 'correct horse');
  let port = '0';
  let gateway: (RunningService & { url: string }) | undefined;
  const start = async (): Promise<void> => {
    const settings = readSettings(gatewayService.settings, {
      ANNEAL_GATEWAY_PORT: port,
    });
    gateway = (await gatewayService.start(context, settings)) as RunningService & { url: string };
    port = new URL(gateway.url).port;
  };
  const stop = async (): Promise<void> => {
    await gateway?.stop();
    gateway = undefined;
  };
  await start();
  const url = `http://127.0.0.1:${port}`;
  let count = 0;
  return {
    rig,
    url,
    async host(name) {
      const { id, token } = await rig.host(name);
      return {
        format: 1,
        purpose: 'deploy',
        host_id: id,
        hostname: name,
        gateway_url: url,
        project,
        token,
        requests_queue: `host.${id}.requests`,
        responses_queue: `host.${id}.responses`,
        user_data: '',
        metadata: {},
      };
    },
    async apply(host, script, options = {}) {
      count += 1;
      const properties = { hosted_on: host, script, options };
      const { resource } = await rig.request('create', {
        type: 'OS::Heat::OrderedConfig',
        name: `config${count}`,
        properties,
      });
      const { id } = resource;
      const isTaken = () => rig.ask(deploymentShow, { project, deployment: id }).catch(() => undefined);
      await eventually(isTaken, { what: `deployment ${id}` });
      return id;
    },
    async replace(deployment, host, script) {
      const properties = { hosted_on: host, script };
      await rig.request('update', { type: 'OS::Heat::OrderedConfig', id: deployment, fence: 2, properties });
    },
    renew: async (host) => (await rig.ask(hostTokenRenew, { project, host })).token,
    stopGateway: stop,
    startGateway: start,
    async dispose() {
      await stop();
      await identity.stop();
      await context.dispose();
      await rig.dispose();
    },
  };
}
