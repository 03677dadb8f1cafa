/**
 * The trusts by which messages of a queue are posted for the user who subscribed: the user is trustor and trustee. The
 * user sees them like any other trust, and ends the posts by deleting one.
 */
import { identitySubscriberTrustEnd, identitySubscriberTrustSet } from '@anneal/contracts/calls/identity.ts';
import { refuseDelegated } from '@anneal/directory/policy.ts';
import type { DirectoryReader } from '@anneal/directory/reader.ts';
import { trustOfSubscription } from '@anneal/runtime/secrets/trust-token.ts';
import type { FastifyRequest } from 'fastify';
import type { Ask } from '../ask.ts';
import { accessOf, projectOf } from './caller.ts';

interface SubscriberTrustOptions {
  readonly directory: Pick<DirectoryReader, 'trusts'>;
  readonly ask: Ask;
  readonly now: () => Date;
}

export class SubscriberTrusts {
  readonly #options: SubscriberTrustOptions;

  constructor(options: SubscriberTrustOptions) {
    this.#options = options;
  }

  /** @throws AnnealError Forbidden for a caller who may not make a trust: a host, or a program that acts for a user */
  check(request: FastifyRequest): void {
    const { applicationCredential: credential, trust } = accessOf(request);
    refuseDelegated({ trust, credential }, 'manage trusts');
  }

  /** Makes the trust of a subscription, or gives it to this caller. A repetition changes only its end. */
  async make(request: FastifyRequest, { subscription, ttl }: { subscription: string; ttl: number }): Promise<void> {
    this.check(request);
    const { user, roles } = accessOf(request);
    const holder = { id: user.id, project: projectOf(request), roles: roles.map(({ id }) => id) };
    const data = { subscription, until: this.#endAfter(ttl), user: holder };
    await this.#options.ask('identity', identitySubscriberTrustSet, { data });
  }

  /** Gives the trust of a subscription, if it has one, another end. */
  async extend(subscription: string, ttl: number): Promise<void> {
    if (!(await this.#exists(subscription))) return;
    const data = { subscription, until: this.#endAfter(ttl) };
    await this.#options.ask('identity', identitySubscriberTrustSet, { data });
  }

  /** Ends the trust of a subscription, if it has one. */
  async remove(subscription: string): Promise<void> {
    if (!(await this.#exists(subscription))) return;
    await this.#options.ask('identity', identitySubscriberTrustEnd, { data: { subscription } });
  }

  /** Most subscriptions have no trust, and need no question. */
  async #exists(subscription: string): Promise<boolean> {
    const { trusts } = this.#options.directory;
    return (await trusts.find(trustOfSubscription(subscription))) !== undefined;
  }

  #endAfter(seconds: number): string {
    return new Date(this.#options.now().getTime() + seconds * 1000).toISOString();
  }
}
