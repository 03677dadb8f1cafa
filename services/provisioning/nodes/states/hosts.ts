/** Calls of the configuration service for a host's queues and credentials. */
import { hostCreate, hostDelete, hostShow, hostTokenRenew, type HostView } from '@anneal/contracts/calls/hosts.ts';
import { ignoreNotFound } from '@anneal/contracts/errors.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { ResourceRequest } from '@anneal/contracts/resource.ts';
import type { Occasion } from '@anneal/contracts/origin.ts';
import { collectTransports } from '@anneal/contracts/transports.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import type { z } from 'zod';
import { openProperty } from '@anneal/runtime/secrets/open.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';

export interface HostAccess {
  /** Differs from the id of the server that took a joined host. */
  readonly id: string;
  readonly token: string;
  readonly requests_queue: string;
  readonly responses_queue: string;
}

type HostQuestion = z.infer<typeof hostCreate.data>;

export class ServerHosts {
  readonly #context: ServiceContext;
  readonly #queue = requestsQueue('configuration');

  constructor(context: ServiceContext) {
    this.#context = context;
  }

  async create(question: HostQuestion): Promise<HostAccess> {
    const { host, token } = await this.#make(question);
    return { id: host.id, token, requests_queue: host.requests_queue, responses_queue: host.responses_queue };
  }

  /** Creates the host of a server unless it exists, and notes how os-collect-config on it reads its metadata. */
  async collect(
    question: Omit<HostQuestion, 'collector'>,
    request: Envelope<ResourceRequest>,
  ): Promise<Omit<HostAccess, 'token'> & { readonly view: HostView; readonly os_collect_config: JsonObject }> {
    const { stack, resource, properties } = request.data;
    const given = openProperty(this.#context.secrets, properties, 'software_config_transport');
    const transport = collectTransports.find((each) => each === given) ?? null;
    const collector = { transport, stack_id: stack.id, stack_name: stack.name, resource_name: resource.name };
    const { origin } = request.data;
    const place = origin && { place: { root: origin.root, path: origin.path, tags: origin.tags } };
    const { host, os_collect_config = {} } = await this.#make({ ...question, collector, ...place });
    const { id, requests_queue, responses_queue } = host;
    return { id, requests_queue, responses_queue, view: host, os_collect_config };
  }

  #make(question: HostQuestion) {
    const { bus, mint } = this.#context;
    const message = mint(hostCreate, { data: question, project: question.project });
    return bus.request({ queue: this.#queue, call: hostCreate, message });
  }

  /** Resolves with the new token. The old one becomes invalid. */
  async renewToken(host: string, project: string): Promise<string> {
    const { bus, mint } = this.#context;
    const message = mint(hostTokenRenew, { data: { host, project }, project });
    return (await bus.request({ queue: this.#queue, call: hostTokenRenew, message })).token;
  }

  async delete(id: string, project: string, occasion?: Occasion): Promise<void> {
    const { bus, mint } = this.#context;
    const message = mint(hostDelete, { data: { id, ...(occasion && { occasion }) }, project });
    // An absent host counts as deleted.
    await bus.request({ queue: this.#queue, call: hostDelete, message }).catch(ignoreNotFound);
  }

  show(id: string, project: string): Promise<HostView> {
    const { bus, mint } = this.#context;
    const message = mint(hostShow, { data: { host: id, project }, project });
    return bus.request({ queue: this.#queue, call: hostShow, message });
  }
}
