/**
 * Machine credentials: tokens for programs, limited to a few rights in one stack.
 *
 * K1 The store has a hash of each token, and its signing key sealed. A token is shown once.
 * K2 Every use asks this service, so a credential that is revoked, disabled or expired is refused at once.
 * K3 A credential expires an hour after the deletion of its stack: until then a listener can read the last events.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { answer, type MessageRoute } from '@anneal/bus/consume/route.ts';
import {
  credentialAuthenticate,
  credentialCreate,
  credentialKeys,
  credentialList,
  credentialPrefix,
  credentialRevoke,
  type CredentialRight,
  type CredentialView,
} from '@anneal/contracts/calls/credentials.ts';
import { stackShow } from '@anneal/contracts/calls/stacks.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { stackEvent } from '@anneal/contracts/events.ts';
import { isObject, type JsonObject } from '@anneal/contracts/json.ts';
import { ec2SecretOf } from '@anneal/runtime/secrets/host-keys.ts';
import type { Admission, Admit } from '@anneal/runtime/service/project-quotas.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import { changeOrInsert } from '@anneal/store/change.ts';
import type { Collection, Document } from '@anneal/store/port.ts';
import { newCredential } from '@anneal/runtime/secrets/new-credential.ts';
import type { Labels } from '@anneal/contracts/calls/measuring.ts';
import type { ServiceQuestion } from '../service-questions.ts';

/** The limits of a poster, and its labels. */
export interface Posted {
  readonly labels: Labels;
  /** The names that it may post. Undefined: all. */
  readonly names?: readonly string[];
}

export interface CredentialDocument extends Document {
  readonly project: string;
  readonly name: string;
  readonly can: readonly CredentialRight[];
  readonly stack: { readonly id: string; readonly name: string };
  readonly group: string | null;
  readonly metrics: readonly string[];
  readonly enabled: boolean;
  readonly token_hash: string;
  /** Sealed. */
  readonly signing_key: JsonObject;
  readonly created_at: string;
  /** Milliseconds since the epoch. */
  readonly expires_at: number | null;
}

/** A credential to create. */
export interface WantedCredential {
  readonly id: string;
  readonly project: string;
  readonly name: string;
  readonly can: readonly CredentialRight[];
  /** Any stack of a tree; the credential is for the root. */
  readonly stack: string;
  readonly group?: string | undefined;
  readonly metrics: readonly string[];
  readonly expiresSeconds?: number | undefined;
  /** The secret part of the token. A repeat has the same one. */
  readonly secret: string;
}

/** How long a credential works after the deletion of its stack (K3). */
const afterDeletionMs = 3_600_000;

const hashOf = (token: string): string => createHash('sha256').update(token).digest('hex');
export const newSecret = (): string => newCredential(32);

export class CredentialStore {
  readonly #credentials: Collection<CredentialDocument>;
  readonly #context: ServiceContext;
  readonly #ask: ServiceQuestion;
  readonly #admit: Admit;

  private constructor(
    credentials: Collection<CredentialDocument>,
    options: { context: ServiceContext; ask: ServiceQuestion; admit: Admit },
  ) {
    this.#credentials = credentials;
    this.#context = options.context;
    this.#ask = options.ask;
    this.#admit = options.admit;
  }

  static async open(options: {
    context: ServiceContext;
    ask: ServiceQuestion;
    admit: Admit;
  }): Promise<CredentialStore> {
    const credentials = await options.context.store.collection<CredentialDocument>({
      name: 'notification_credentials',
      indexes: [{ fields: ['project', 'created_at'] }],
    });
    return new CredentialStore(credentials, options);
  }

  /** How many a project has. */
  countOf(project: string): Promise<number> {
    return this.#credentials.count({ project });
  }

  /**
   * Creates a credential, or changes the one that the id names. Returns its token.
   * @throws AnnealError NotFound for a stack that does not exist, QuotaExceeded
   */
  async put(wanted: WantedCredential): Promise<{ document: CredentialDocument; token: string }> {
    const { id, project, name, can, metrics, group = null } = wanted;
    const stack = await this.#rootOf(project, wanted.stack);
    const token = `${credentialPrefix}${id}.${wanted.secret}`;
    const now = this.#context.now().getTime();
    const expires_at = wanted.expiresSeconds === undefined ? null : now + wanted.expiresSeconds * 1000;
    const put = () =>
      changeOrInsert(this.#credentials, id, (current) => ({
        id,
        project,
        name,
        can,
        stack,
        group,
        metrics,
        enabled: current?.enabled ?? true,
        token_hash: hashOf(token),
        signing_key: this.#context.secrets.seal(ec2SecretOf(token)),
        created_at: current?.created_at ?? new Date(now).toISOString(),
        expires_at,
      }));
    const isNew = (await this.#credentials.get(id)) === undefined;
    const { document } = await (isNew ? this.#admit(project, this.#admission(project, name), put) : put());
    if (!document) throw new AnnealError('Conflict', `The credential ${id} was changed at the same time.`);
    return { document, token };
  }

  #admission(project: string, name: string): Admission {
    return {
      wanted: 1,
      count: () => this.countOf(project),
      refusal: ({ there, limit }) =>
        new AnnealError(
          'QuotaExceeded',
          `Cannot create the credential ${name}: the project has ${there} and the limit is ${limit.most} (${limit.setting}). Revoke some first.`,
        ),
    };
  }

  async enable(id: string, enabled: boolean): Promise<void> {
    await changeOrInsert(this.#credentials, id, (current) => current && { ...current, enabled });
  }

  /** Ends the credentials of a stack that is deleted (K3). A repeat changes nothing. */
  async onEvent({ type, data }: Pick<Envelope, 'type' | 'data'>, project: string): Promise<void> {
    if (type !== stackEvent['delete.completed'].type || !isObject(data)) return;
    const last = this.#context.now().getTime() + afterDeletionMs;
    for (const { id, stack } of await this.#credentials.find({ where: { project } })) {
      if (stack.id !== data['stack_id']) continue;
      await changeOrInsert(this.#credentials, id, (current) => {
        const ends = current?.expires_at ?? Infinity;
        return current && ends > last ? { ...current, expires_at: last } : undefined;
      });
    }
  }

  async remove(id: string): Promise<void> {
    await this.#credentials.remove(id);
  }

  exists = async (id: string): Promise<boolean> => (await this.#credentials.get(id)) !== undefined;

  /** The labels and names of what a credential posts. @throws AnnealError Forbidden */
  async posterOf(project: string, id: string): Promise<Posted> {
    const found = await this.#credentials.get(id);
    if (found?.project !== project || this.#view(found).status !== 'active' || !found.can.includes('metrics.post')) {
      throw new AnnealError('Forbidden', `The credential ${id} must not post measurements.`);
    }
    const { stack, group, name, metrics } = found;
    const labels = { stack: stack.id, stack_name: stack.name, credential: name, ...(group !== null && { group }) };
    return { labels, ...(metrics.length > 0 && { names: metrics }) };
  }

  routes(): MessageRoute[] {
    const context = this.#context;
    return [
      answer(context, credentialCreate, async ({ data: { expires_seconds: expiresSeconds, ...data } }) => {
        const { document, token } = await this.put({ ...data, expiresSeconds, secret: newSecret() });
        const keys = { access_key: document.id, secret_key: ec2SecretOf(token) };
        return { credential: this.#view(document), token, ...keys };
      }),
      answer(context, credentialList, async ({ data: { project } }) => {
        const found = await this.#credentials.find({ where: { project }, orderBy: ['created_at'] });
        return { credentials: found.map((each) => this.#view(each)) };
      }),
      answer(context, credentialRevoke, async ({ data: { project, id } }) => {
        const found = await this.#credentials.get(id);
        if (found?.project !== project) throw new AnnealError('NotFound', `There is no credential ${id}.`);
        await this.remove(id);
        return {};
      }),
      answer(context, credentialAuthenticate, ({ data: { token } }) => this.#authenticate(token)),
      answer(context, credentialKeys, async ({ data: { access_key: id } }) => {
        const found = await this.#credentials.get(id);
        if (!found || this.#view(found).status !== 'active') throw refusedCredential();
        return { credential: this.#view(found), secret_key: found.signing_key };
      }),
    ];
  }

  async #authenticate(token: string): Promise<CredentialView> {
    const [, id = ''] = token.split('.');
    const found = token.startsWith(credentialPrefix) ? await this.#credentials.get(id) : undefined;
    const isSame = found && timingSafeEqual(Buffer.from(found.token_hash), Buffer.from(hashOf(token)));
    const view = isSame && this.#view(found);
    if (!view || view.status !== 'active') throw refusedCredential();
    return view;
  }

  async #rootOf(project: string, stack: string): Promise<{ id: string; name: string }> {
    const show = (named: string) =>
      this.#ask('scheduling', stackShow, { project, data: { project, stack: named, outputs: false } });
    const found = await show(stack);
    const root = found.root === found.id || found.root === '' ? found : await show(found.root);
    return { id: root.id, name: root.name };
  }

  #view(document: CredentialDocument): CredentialView {
    const { id, name, project, can, stack, group, metrics, enabled, created_at, expires_at } = document;
    const isExpired = expires_at !== null && expires_at <= this.#context.now().getTime();
    return {
      id,
      name,
      project,
      can: [...can],
      stack,
      group,
      metrics: [...metrics],
      status: !enabled ? 'disabled' : isExpired ? 'expired' : 'active',
      created_at,
      expires_at: expires_at === null ? null : new Date(expires_at).toISOString(),
    };
  }
}

const refusedCredential = (): AnnealError =>
  new AnnealError('Unauthorized', 'The credential does not exist, or was revoked, disabled or has expired.');
