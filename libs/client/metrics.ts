/** Measurements: post, list and aggregate them. */
import {
  metricList,
  metricPost,
  metricQuery,
  type Measurement,
  type SeriesView,
} from '@anneal/contracts/calls/measuring.ts';
import type { z } from 'zod';
import type { GatewayConnection } from './connection.ts';
import { read } from './read.ts';

/** The points of a query, by the values of the labels that it groups by. */
export type MetricResults = z.infer<typeof metricQuery.answer>;

/** Which measurements to aggregate, and how. Absent times: the last hour. */
export interface MetricQuery {
  readonly name: string;
  readonly where?: Readonly<Record<string, string>>;
  readonly by?: readonly string[];
  readonly aggregate?: string | undefined;
  /** In seconds. */
  readonly granularity?: number | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** The measurements of the project. */
export interface MetricCalls {
  /** Stores a batch; a repeat with the same id adds nothing. */
  post(parameters: {
    measurements: readonly Measurement[];
    id?: string;
  }): Promise<{ stored: number; repeated: number }>;
  list(parameters?: {
    name?: string | undefined;
    where?: Readonly<Record<string, string>>;
    limit?: number | undefined;
  }): Promise<SeriesView[]>;
  query(parameters: MetricQuery): Promise<MetricResults>;
}

const service = 'api';
const conditionsOf = (where: Readonly<Record<string, string>> = {}): string[] =>
  Object.entries(where).map(([name, value]) => `${name}=${value}`);

/** The calls for measurements. Each throws the gateway's AnnealError. */
export function metricsOf(connection: GatewayConnection): MetricCalls {
  return {
    async post({ measurements, id }) {
      const what = 'post measurements';
      const body = { measurements, ...(id !== undefined && { id }) };
      return read(
        metricPost.answer,
        await connection.json({ service, method: 'POST', path: '/metrics', body, what }),
        what,
      );
    },
    async list({ name, where, limit } = {}) {
      const what = 'list the series of measurements';
      const query = { name, label: conditionsOf(where), limit };
      return read(metricList.answer, await connection.json({ service, path: '/metrics', query, what }), what).series;
    },
    async query({ name, where, by = [], aggregate, granularity, from, to }) {
      const what = `aggregate the measurements ${name}`;
      const query = { label: conditionsOf(where), by: by.join(',') || undefined, aggregate, granularity, from, to };
      const path = `/metrics/${encodeURIComponent(name)}`;
      return read(metricQuery.answer, await connection.json({ service, path, query, what }), what);
    },
  };
}
