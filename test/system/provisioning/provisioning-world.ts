/**
 * Provisioning with a real lab, a real bus and a real store, and the gateway's route for BMCs. Substitutes: an HTTP server
 * for booting machines instead of the gateway, a handler that creates hosts and reports their agents instead of
 * configuration, and a queue of responses instead of the engine.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { answer, on, routeMessages } from '@anneal/bus/consume/route.ts';
import type { Bus } from '@anneal/bus/port.ts';
import { hostCreate, hostDelete, hostShow, hostTokenRenew } from '@anneal/contracts/calls/hosts.ts';
import type { CallDefinition } from '@anneal/contracts/define.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { hostEvent } from '@anneal/contracts/events.ts';
import { unknownOrigin } from '@anneal/contracts/origin.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import {
  bootDocumentShow,
  bootExchange,
  bootFind,
  bootProgress,
  bootReport,
  type BootSeed,
} from '@anneal/contracts/calls/boot.ts';
import { heartbeatShape } from '@anneal/contracts/node-progress.ts';
import { nodeEnrol, nodeShow, type NodeView } from '@anneal/contracts/calls/nodes.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import {
  resourceCreate,
  resourceDelete,
  resourceResponse,
  resourceUpdate,
  resourceWithdraw,
  type ResourceResponse,
} from '@anneal/contracts/resource.ts';
import { bmcEventsApp } from '@anneal/gateway/testing/bmc-events-app.ts';
import { startLab, type Lab } from '@anneal/lab/lab.ts';
import type { StartAgent } from '@anneal/lab/machine.ts';
import { provisioningService } from '@anneal/provisioning/service.ts';
import type { RunningService } from '@anneal/runtime/service/service.ts';
import { bmcEventsPrefix } from '@anneal/runtime/secrets/bmc-events.ts';
import { readSettings } from '@anneal/runtime/service/settings.ts';
import { createTestContext, eventually, type TestContext } from '@anneal/runtime/testing.ts';
import { pino } from 'pino';
import { z } from 'zod';

const project = 'p1';
const replies = 'anneal.scheduling.shard.0';

export interface WorldOptions {
  readonly machines: number;
  readonly settings?: Record<string, string>;
  readonly bootSeconds?: number;
  /** Hosts whose agents never ask for work. */
  readonly silent?: boolean;
  /** The quota of hosts of the project. */
  readonly mostHosts?: number;
  /** The lab serves HTTPS. */
  readonly tls?: boolean;
  /** False: the BMCs send their events to subscriptions, and not as a stream. */
  readonly eventStream?: boolean;
}

export class ProvisioningWorld {
  readonly directory: string;
  readonly context: TestContext;
  readonly lab: Lab;
  readonly hosts = new Map<string, string>();
  readonly responses: ResourceResponse[] = [];
  readonly events: { type: string; data: JsonObject }[] = [];
  /** The seeds that agents started with, oldest first. */
  readonly seeds: BootSeed[];
  refusedHosts = 0;
  readonly mostHosts: number;
  readonly #bootServer: Server;
  readonly #seenHosts: Map<string, string>;
  /** Addresses of machines whose agents never ask for work. */
  readonly mute: Set<string>;
  /** Used by the next start. */
  readonly settings: Record<string, string>;
  #services: RunningService[] = [];

  static async open(options: WorldOptions): Promise<ProvisioningWorld> {
    const directory = await mkdtemp(join(tmpdir(), 'anneal-world-'));
    const bootServer = createServer();
    await new Promise<void>((resolve) => void bootServer.listen(0, '127.0.0.1', resolve));
    const gatewayUrl = `http://127.0.0.1:${(bootServer.address() as AddressInfo).port}`;
    const context = await createTestContext({
      name: 'provisioning',
      gatewayUrl,
      logLevel: process.env['TEST_LOG'] ?? 'silent',
    });
    // Report the agent's first request without an agent: these tests are about machines, not about configs.
    const seeds: BootSeed[] = [];
    const seenHosts = new Map<string, string>();
    const mute = new Set<string>();
    const startAgent: StartAgent = async ({ seed, environment }) => {
      seeds.push(seed);
      // The first contact is an event. A host that starts again is only seen.
      const isNew = !seenHosts.has(seed.host_id);
      const isSilent = options.silent === true || mute.has(environment['HOST_ADDRESS'] ?? '');
      if (!isSilent) seenHosts.set(seed.host_id, new Date().toISOString());
      if (!isSilent && isNew) {
        const facts = { address: environment['HOST_ADDRESS'] ?? '' };
        const data = {
          origin: unknownOrigin(),
          host_id: seed.host_id,
          name: seed.hostname,
          status: 'up',
          facts,
          version: 1,
        };
        await context.bus.publish([context.mint(hostEvent.up, { data, subject: seed.host_id, project })]);
      }
      return { stop: () => Promise.resolve(), kill: () => {} };
    };
    const lab = await startLab({
      machines: options.machines,
      directory: join(directory, 'lab'),
      host: '127.0.0.1',
      port: 0,
      bootSeconds: options.bootSeconds ?? 0.05,
      environment: process.env,
      startAgent,
      log: pino({ level: 'silent' }),
      tls: options.tls ?? false,
      eventStream: options.eventStream ?? true,
      pxe: `${gatewayUrl}/boot/v1/ipxe`,
    });
    const world = new ProvisioningWorld({
      directory,
      context,
      lab,
      bootServer,
      seenHosts,
      settings: options.settings ?? {},
      seeds,
      mute,
      mostHosts: options.mostHosts ?? Infinity,
    });
    await world.#openDoors();
    await world.start();
    return world;
  }

  private constructor(parts: {
    directory: string;
    context: TestContext;
    lab: Lab;
    bootServer: Server;
    seenHosts: Map<string, string>;
    settings: Record<string, string>;
    seeds: BootSeed[];
    mute: Set<string>;
    mostHosts: number;
  }) {
    this.directory = parts.directory;
    this.context = parts.context;
    this.lab = parts.lab;
    this.#bootServer = parts.bootServer;
    this.#seenHosts = parts.seenHosts;
    this.settings = parts.settings;
    this.seeds = parts.seeds;
    this.mute = parts.mute;
    this.mostHosts = parts.mostHosts;
  }

  get bus(): Bus {
    return this.context.bus;
  }

  /** Starts the service, or one more replica of it. */
  async start(): Promise<void> {
    this.#services.push(
      await provisioningService.start(this.context, readSettings(provisioningService.settings, this.settings)),
    );
  }
  /** Stops the replica that started first. */
  async stopFirst(): Promise<void> {
    await this.#services.shift()?.stop();
  }
  async stop(): Promise<void> {
    await Promise.all(this.#services.splice(0).map((service) => service.stop()));
  }

  async close(): Promise<void> {
    await this.stop();
    await this.lab.stop();
    this.#bootServer.closeAllConnections();
    this.#bootServer.close();
    await this.context.dispose();
    await rm(this.directory, { recursive: true, force: true });
  }

  ask<Q, A>(call: CallDefinition<Q, A>, data: Q): Promise<A> {
    return this.bus.request({
      queue: requestsQueue('provisioning'),
      call,
      message: this.context.mint(call, { data, project }),
    });
  }
  node = (name: string): Promise<NodeView> => this.ask(nodeShow, { node: name });

  async enrolAll(): Promise<void> {
    for (const { state } of this.lab.machines) await this.enrol(state.name);
    for (const { state } of this.lab.machines) await this.nodeIs(state.name, 'available');
  }

  enrol(
    name: string,
    change: Partial<{ address: string; password: string; system: string; properties: JsonObject }> = {},
  ): Promise<NodeView> {
    return this.ask(nodeEnrol, {
      id: this.context.newId(),
      name,
      driver: 'redfish',
      driver_info: {
        redfish_address: change.address ?? this.lab.url,
        redfish_system_id: change.system ?? `/redfish/v1/Systems/${name}`,
        redfish_username: this.lab.username,
        redfish_password: change.password ?? this.lab.password,
      },
      resource_class: 'baremetal',
      traits: [],
      extra: {},
      instance_info: {},
      owner: null,
      lessee: null,
      description: null,
      properties: change.properties ?? {},
      chassis_id: null,
      shard: null,
      interfaces: {},
      at_once: false,
      provide: true,
    });
  }

  async nodeIs(name: string, state: NodeView['provision_state'], within = 20_000): Promise<NodeView> {
    let last: NodeView | undefined;
    return eventually(
      async () => {
        last = await this.node(name);
        return last.provision_state === state ? last : undefined;
      },
      { within, what: `node ${name} ${state}`, last: () => last },
    );
  }

  async request(
    action: 'create' | 'update' | 'delete' | 'withdraw',
    options: {
      id: string;
      fence: number;
      type?: string;
      properties?: JsonObject;
      changed?: string[];
      seconds?: number;
    },
  ): Promise<void> {
    const {
      id,
      fence,
      type = 'OS::Nova::Server',
      properties = { flavor: 'm1.small' },
      changed = [],
      seconds = 60,
    } = options;
    const data = {
      resource: { id, name: 'serv1', type, physical_name: `stack-serv1-${id.slice(-12)}` },
      stack: { id: 's1', name: 'stack' },
      traversal: 't1',
      fence,
      deadline: new Date(Date.now() + seconds * 1000).toISOString(),
      physical_id: fence === 1 ? null : id,
      properties,
      attributes: {},
    };
    const suffix = action === 'withdraw' ? ':withdraw' : '';
    const common = { id: `${id}:${fence}${suffix}`, project, replyto: replies };
    const { mint } = this.context;
    const plain = { create: resourceCreate, delete: resourceDelete, withdraw: resourceWithdraw };
    const message =
      action === 'update'
        ? mint(resourceUpdate, { ...common, data: { ...data, old_properties: {}, changed } })
        : mint(plain[action], { ...common, data });
    await this.bus.send({ queue: requestsQueue('provisioning'), messages: [message] });
  }

  answered(id: string, fence: number, within = 30_000): Promise<ResourceResponse> {
    const mine = (): ResourceResponse[] =>
      this.responses.filter((response) => response.resource_id === id && response.fence === fence);
    return eventually(() => mine().find(({ status }) => status !== 'in progress'), {
      within,
      what: `an answer for ${id}`,
      last: mine,
    });
  }

  async fault(machine: string, fault: object | undefined): Promise<void> {
    const answered = await fetch(`${this.lab.url}/lab/v1/machines/${machine}/faults`, {
      method: fault ? 'POST' : 'DELETE',
      headers: {
        authorization: `Basic ${Buffer.from(`${this.lab.username}:${this.lab.password}`).toString('base64')}`,
        ...(fault && { 'content-type': 'application/json' }),
      },
      ...(fault && { body: JSON.stringify(fault) }),
    });
    if (!answered.ok) throw new Error(`the lab answered ${answered.status}: ${await answered.text()}`);
  }

  /** The host asks for work again. */
  asksForWork(host: string): string {
    const at = this.context.now().toISOString();
    this.#seenHosts.set(host, at);
    return at;
  }

  #hostView(id: string, given: { name: string; project: string } = { name: id, project }) {
    const seen = this.#seenHosts.get(id) ?? null;
    return {
      ...given,
      id,
      status: seen === null ? ('expected' as const) : ('up' as const),
      requests_queue: `host.${id}.requests`,
      responses_queue: `host.${id}.responses`,
      facts: {},
      created_at: new Date().toISOString(),
      first_seen_at: seen,
      last_seen_at: seen,
      pending: 0,
      version: 1,
      conditions: [],
    };
  }

  async #openDoors(): Promise<void> {
    const { context, bus } = this;
    await bus.consume(
      requestsQueue('configuration'),
      routeMessages([
        answer(context, hostCreate, ({ data }) => {
          if (this.hosts.size >= this.mostHosts && !this.hosts.has(data.id)) {
            this.refusedHosts += 1;
            throw new AnnealError('QuotaExceeded', `The project has ${this.hosts.size} hosts.`);
          }
          const token = this.hosts.get(data.id) ?? context.newId();
          this.hosts.set(data.id, token);
          return Promise.resolve({
            token,
            os_collect_config: { zaqar: { queue_id: data.id } },
            host: this.#hostView(data.id, data),
          });
        }),
        answer(context, hostShow, ({ data }) => Promise.resolve(this.#hostView(data.host))),
        answer(context, hostTokenRenew, ({ data }) => {
          const token = context.newId();
          this.hosts.set(data.host, token);
          return Promise.resolve({ token, host: this.#hostView(data.host) });
        }),
        answer(context, hostDelete, ({ data }) => {
          this.#seenHosts.delete(data.id);
          if (!this.hosts.delete(data.id)) return Promise.reject(new AnnealError('NotFound', `no host ${data.id}`));
          return Promise.resolve({});
        }),
      ]),
    );
    await bus.consume(
      replies,
      routeMessages([
        on(resourceResponse, ({ data }) => {
          this.responses.push(data);
          return Promise.resolve();
        }),
      ]),
    );
    await bus.subscribe(['node.#', 'asset.#', 'allocation.#'], ({ message }) => {
      this.events.push({ type: message.type, data: message.data as JsonObject });
      return Promise.resolve();
    });
    const reports = await bmcEventsApp(context);
    this.#bootServer.on('request', (request, response) => {
      const address = new URL(request.url ?? '', this.context.gatewayUrl);
      if (address.pathname.startsWith(bmcEventsPrefix)) return reports.routing(request, response);
      const [, , , secret = '', exchange] = address.pathname.split('/');
      if (secret === 'ipxe') {
        this.ask(bootFind, { uuid: address.searchParams.get('uuid') ?? '' }).then(
          (found) => response.end(`#!ipxe\nkernel anneal.boot=${this.context.gatewayUrl}/boot/v1/${found.secret}\n`),
          (error: unknown) => response.writeHead(error instanceof AnnealError ? error.status : 503).end(),
        );
        return undefined;
      }
      const token = String(request.headers['x-auth-token']);
      let text = '';
      request.on('data', (chunk: Buffer) => (text += chunk.toString()));
      request.on('end', () => {
        const work: Promise<unknown> =
          request.method === 'GET'
            ? this.ask(bootDocumentShow, { secret })
            : exchange === 'exchange'
              ? this.ask(bootExchange, { secret, ...(JSON.parse(text) as { key: string; machine?: string }) })
              : secret === 'progress'
                ? this.ask(bootProgress, { token, ...z.object(heartbeatShape).parse(JSON.parse(text)) })
                : this.ask(bootReport, { token, ...(JSON.parse(text) as { status: 'cleaned'; message: string }) });
        work.then(
          (value) => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value)),
          (error: unknown) => response.writeHead(error instanceof AnnealError ? error.status : 503).end(),
        );
      });
      return undefined;
    });
  }
}
