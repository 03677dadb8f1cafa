/** Calls of the configuration service for a host's queues and credentials. */
import { hostCreate, hostDelete, hostShow, hostTokenRenew, type HostView } from '@anneal/contracts/configuration.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import type { ServiceContext } from '@anneal/runtime/service.ts';

export interface HostAccess {
  /** Differs from the id of the server that took a joined host. */
  readonly id: string;
  readonly token: string;
  readonly requests_queue: string;
  readonly responses_queue: string;
}

export class ServerHosts {
  readonly #context: ServiceContext;
  readonly #queue = requestsQueue('configuration');

  constructor(context: ServiceContext) {
    this.#context = context;
  }

  async create(question: { id: string; name: string; project: string; take_joined?: boolean }): Promise<HostAccess> {
    const { bus, mint } = this.#context;
    const message = mint(hostCreate, { data: question, project: question.project });
    const { host, token } = await bus.request({ queue: this.#queue, call: hostCreate, message });
    return { id: host.id, token, requests_queue: host.requests_queue, responses_queue: host.responses_queue };
  }

  /** Resolves with the new token. The old one becomes invalid. */
  async renewToken(host: string, project: string): Promise<string> {
    const { bus, mint } = this.#context;
    const message = mint(hostTokenRenew, { data: { host, project }, project });
    return (await bus.request({ queue: this.#queue, call: hostTokenRenew, message })).token;
  }

  async delete(id: string, project: string): Promise<void> {
    const { bus, mint } = this.#context;
    try {
      await bus.request({ queue: this.#queue, call: hostDelete, message: mint(hostDelete, { data: { id }, project }) });
    } catch (error) {
      // An absent host counts as deleted.
      if (!(error instanceof AnnealError) || error.code !== 'NotFound') throw error;
    }
  }

  show(id: string, project: string): Promise<HostView> {
    const { bus, mint } = this.#context;
    const message = mint(hostShow, { data: { host: id, project }, project });
    return bus.request({ queue: this.#queue, call: hostShow, message });
  }
}
