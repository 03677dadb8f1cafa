/** The BIOS settings and the firmware of a node, as its BMC showed them at the last verification, inspection or change. */
import { nodeSettings, type BiosDetails, type HardwareSettings } from '@anneal/contracts/calls/provisioning.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Json } from '@anneal/contracts/json.ts';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { baseUrl } from '../http/base-url.ts';
import { queryBoolean, queryValue } from '../http/body.ts';
import { described } from '../http/document.ts';
import { listQuery } from './collection.ts';
import type { NodePath } from './node-path.ts';
import { ironicLinks, pick } from './node-view.ts';

const seconds = (at: string | null): string | null => (at === null ? null : `${at.slice(0, 19)}+00:00`);
/** Ironic knows settings as texts. */
const textOf = (value: Json): string | null =>
  value === null ? null : typeof value === 'string' ? value : JSON.stringify(value);

type Shown = Awaited<ReturnType<typeof settingsOf>>;
const settingsOf = (ask: Ask, node: string) => ask('provisioning', nodeSettings, { data: { node } });

/** The details of a setting that no registry describes. */
const unknownDetails: BiosDetails = {
  attribute_type: null,
  allowable_values: null,
  lower_bound: null,
  max_length: null,
  min_length: null,
  read_only: null,
  reset_required: null,
  unique: null,
  upper_bound: null,
};

const detailsOf = ({ bios_details: known = {} }: Shown, name: string): BiosDetails =>
  (Object.hasOwn(known, name) ? known[name] : undefined) ?? unknownDetails;

const settingSchema = z.looseObject({ name: z.string().nullish(), value: z.string().nullish() });
const listsSettings = described({
  summary: 'List the BIOS settings of a node, as its BMC showed them last.',
  query: listQuery().pick({ detail: true, fields: true }),
  answer: z.object({ bios: z.array(settingSchema) }),
});
const showsSetting = described({
  summary: 'Show a BIOS setting of a node, by its name.',
  answer: z.record(z.string(), settingSchema),
});
const listsFirmware = described({
  summary: 'List the firmware of a node, as its BMC showed it last.',
  answer: z.object({ firmware: z.array(z.looseObject({ component: z.string() })) }),
});

export function hardwareSettingRoutes(scope: FastifyInstance, ask: Ask): void {
  const rowOf = (shown: Shown, name: string, links: object) => ({
    name,
    value: textOf(shown.bios[name] ?? null),
    created_at: seconds(shown.created_at),
    updated_at: seconds(shown.read_at),
    links,
  });
  scope.get<NodePath>('/v1/nodes/:node/bios', listsSettings, async (request) => {
    const { node } = request.params;
    const shown = await settingsOf(ask, node);
    const isDetailed = queryBoolean(request, 'detail') ?? false;
    const fields = queryValue(request, 'fields')?.split(',');
    const rows = Object.keys(shown.bios).map((name) => ({
      ...rowOf(shown, name, ironicLinks(baseUrl(request), `nodes/${node}/bios/${encodeURIComponent(name)}`)),
      ...((isDetailed || fields) && detailsOf(shown, name)),
    }));
    return { bios: fields ? rows.map((row) => pick(row, fields)) : rows };
  });
  scope.get<{ Params: { node: string; name: string } }>('/v1/nodes/:node/bios/:name', showsSetting, async (request) => {
    const { node, name } = request.params;
    const shown = await settingsOf(ask, node);
    if (!Object.hasOwn(shown.bios, name))
      throw new AnnealError('NotFound', `Node ${node} doesn't have a BIOS setting '${name.slice(0, 255)}'.`);
    const links = ironicLinks(baseUrl(request), `nodes/${node}/bios/${encodeURIComponent(name)}`);
    return { [name]: { ...rowOf(shown, name, links), ...detailsOf(shown, name) } };
  });
  scope.get<NodePath>('/v1/nodes/:node/firmware', listsFirmware, async ({ params }) => ({
    firmware: (await settingsOf(ask, params.node)).firmware.map(firmwareRow),
  }));
}

const firmwareRow = ({ created_at, updated_at, ...row }: HardwareSettings['firmware'][number]): object => ({
  ...row,
  created_at: seconds(created_at),
  updated_at: seconds(updated_at),
});
