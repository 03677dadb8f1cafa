/** What a service is, and what it is given when it starts. */
import type { Bus } from '@anneal/bus/port.ts';
import type { Mint } from '@anneal/contracts/envelope.ts';
import type { ServiceName } from '@anneal/contracts/queues.ts';
import type { Store } from '@anneal/store/port.ts';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Secrets } from './secrets.ts';
import type { SettingDefinitions, SettingsOf } from './settings.ts';

export interface ServiceContext {
  readonly name: ServiceName;
  readonly bus: Bus;
  readonly store: Store;
  readonly log: Logger;
  readonly metrics: Registry;
  readonly mint: Mint;
  /** UUIDv7. */
  readonly newId: () => string;
  readonly now: () => Date;
  readonly secrets: Secrets;
  /** Where hosts and clients reach the gateway. */
  readonly gatewayUrl: string;
  /** What the catalog calls this place. */
  readonly region: string;
  /** Aborted when the process is told to stop. */
  readonly stopping: AbortSignal;
}

export interface RunningService {
  /** Finishes what is in flight and gives the rest back. Called once. */
  stop(): Promise<void>;
  /** Rejects, saying why, while the service cannot do its work, besides bus and store, which the runtime checks. */
  check?(): Promise<void>;
}

export interface Service<D extends SettingDefinitions = SettingDefinitions> {
  readonly name: ServiceName;
  readonly settings: D;
  /** Resolves when the service takes work. */
  start(context: ServiceContext, settings: SettingsOf<D>): Promise<RunningService>;
}

export function defineService<D extends SettingDefinitions>(service: Service<D>): Service<D> {
  return service;
}
