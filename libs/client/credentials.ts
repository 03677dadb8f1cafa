/** Machine credentials: tokens for programs with few rights in one stack. */
import {
  credentialCreate,
  credentialList,
  type CredentialRight,
  type CredentialView,
} from '@anneal/contracts/calls/credentials.ts';
import type { z } from 'zod';
import type { GatewayConnection } from './connection.ts';
import { read } from './read.ts';

/** A new credential with its token and keys, which are shown once. */
export type CreatedCredential = z.infer<typeof credentialCreate.answer>;

/** The machine credentials of the project. */
export interface CredentialCalls {
  create(parameters: {
    name: string;
    can: readonly CredentialRight[];
    /** Its id or name. */
    stack: string;
    /** Path of a group below the stack, which measurements get as label. */
    group?: string | undefined;
    /** Names that it may post; empty for all. */
    metrics?: readonly string[];
    expiresSeconds?: number | undefined;
  }): Promise<CreatedCredential>;
  list(parameters?: { signal?: AbortSignal }): Promise<CredentialView[]>;
  /** It stops working at once. */
  revoke(parameters: { credential: string }): Promise<void>;
}

const service = 'api';

/** The calls for machine credentials. Each throws the gateway's AnnealError. */
export function credentialsOf(connection: GatewayConnection): CredentialCalls {
  return {
    async create({ name, can, stack, group, metrics = [], expiresSeconds }) {
      const what = `create the credential ${name}`;
      const more = {
        ...(group !== undefined && { group }),
        ...(expiresSeconds && { expires_seconds: expiresSeconds }),
      };
      const body = { name, can, stack, metrics, ...more };
      const created = await connection.json({ service, method: 'POST', path: '/credentials', body, what });
      return read(credentialCreate.answer, created, what);
    },
    async list({ signal } = {}) {
      const what = 'list the credentials';
      const body = await connection.json({ service, path: '/credentials', what, signal });
      return read(credentialList.answer, body, what).credentials;
    },
    async revoke({ credential }) {
      const path = `/credentials/${encodeURIComponent(credential)}`;
      await connection.call({ service, method: 'DELETE', path, what: `revoke the credential ${credential}` });
    },
  };
}
