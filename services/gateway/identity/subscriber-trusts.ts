/**
 * The trusts by which messages of a queue are posted for the user who subscribed: the user is trustor and trustee. The
 * user sees them like any other trust, and ends the posts by deleting one.
 */
import { hasCode } from '@anneal/contracts/errors.ts';
import { trustOfSubscription } from '@anneal/runtime/secrets/trust-token.ts';
import type { FastifyRequest } from 'fastify';
import { projectOf } from './caller.ts';
import type { Directory } from './directory/directory.ts';
import { refuseDelegated } from './routes/trust-routes.ts';
import { accessOf } from './routes/shape.ts';

export class SubscriberTrusts {
  readonly #trusts: Directory['trusts'];
  readonly #now: () => Date;

  constructor({ directory, now }: { directory: Pick<Directory, 'trusts'>; now: () => Date }) {
    this.#trusts = directory.trusts;
    this.#now = now;
  }

  /** @throws AnnealError Forbidden for a caller who may not make a trust: a host, or a program that acts for a user */
  check(request: FastifyRequest): void {
    accessOf(request);
    refuseDelegated(request);
  }

  /** Makes the trust of a subscription, or gives it to this caller. A repetition changes only its end. */
  async make(request: FastifyRequest, { subscription, ttl }: { subscription: string; ttl: number }): Promise<void> {
    this.check(request);
    const { user, roles } = accessOf(request);
    const draft = {
      id: trustOfSubscription(subscription),
      trustor_user_id: user.id,
      trustee_user_id: user.id,
      project_id: projectOf(request),
      impersonation: true,
      roles: roles.map(({ id }) => id),
      expires_at: this.#endAfter(ttl),
      remaining_uses: null,
    };
    try {
      await this.#trusts.insert(draft, 'the id is in use.');
    } catch (error) {
      if (!hasCode(error, 'AlreadyExists')) throw error;
      await this.#trusts.update(draft.id, () => draft);
    }
  }

  /** Gives the trust of a subscription, if it has one, another end. */
  async extend(subscription: string, ttl: number): Promise<void> {
    const id = trustOfSubscription(subscription);
    if (!(await this.#trusts.find(id))) return;
    await this.#trusts.update(id, (trust) => ({ ...trust, expires_at: this.#endAfter(ttl) }));
  }

  /** Ends the trust of a subscription, if it has one. */
  async remove(subscription: string): Promise<void> {
    const id = trustOfSubscription(subscription);
    if (await this.#trusts.find(id)) await this.#trusts.remove(id);
  }

  #endAfter(seconds: number): string {
    return new Date(this.#now().getTime() + seconds * 1000).toISOString();
  }
}
