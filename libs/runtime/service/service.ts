/** A service, and the context that it gets when it starts. */
import type { Bus } from '@anneal/bus/port.ts';
import type { Mint } from '@anneal/contracts/envelope.ts';
import type { ServiceName } from '@anneal/contracts/queues.ts';
import type { EvaluationLimits } from '@anneal/hot/limits.ts';
import type { Store } from '@anneal/store/port.ts';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Secrets } from '../secrets/secrets.ts';
import type { SettingDefinitions, SettingsOf } from './settings.ts';

/** The means that the runtime gives to a service. */
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
  /** The address of the gateway for hosts and clients. */
  readonly gatewayUrl: string;
  /** The folder for files of this process. Other processes may have another one. */
  readonly dataDirectory: string;
  /** The region's name in the catalog. */
  readonly region: string;
  /** The operator's limits for every evaluation of a template or a workflow. */
  readonly evaluationLimits: EvaluationLimits;
  /** Aborted when the process has to stop. */
  readonly stopping: AbortSignal;
}

/** A service that accepts work. */
export interface RunningService {
  /** Finishes the work in progress and gives the rest back. Called once. */
  stop(): Promise<void>;
  /** Rejects with the reason while the service cannot work. The runtime itself checks bus and store. */
  check?(): Promise<void>;
}

/** A service: its name, its settings and its start. */
export interface Service<D extends SettingDefinitions = SettingDefinitions> {
  readonly name: ServiceName;
  readonly settings: D;
  /** Resolves when the service accepts work. */
  start(context: ServiceContext, settings: SettingsOf<D>): Promise<RunningService>;
}

/** Keeps the type of the settings. Returns its argument. */
export function defineService<D extends SettingDefinitions>(service: Service<D>): Service<D> {
  return service;
}
