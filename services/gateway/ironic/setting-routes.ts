/** The BIOS settings and the firmware of a node, as its BMC showed them at the last verification, inspection or change. */
import { nodeSettings, type BiosDetails, type HardwareSettings } from '@anneal/contracts/calls/node-hardware.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { baseUrl } from '../http/base-url.ts';
import { route, type Route } from '../http/route.ts';
import { listQuery } from './collection.ts';
import { ironicLinks, ironicSeconds, pick } from './node-view.ts';

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

export function hardwareSettingRoutes(ask: Ask): Route[] {
  const rowOf = (shown: Shown, name: string, links: object) => ({
    name,
    value: textOf(shown.bios[name] ?? null),
    created_at: ironicSeconds(shown.created_at),
    updated_at: ironicSeconds(shown.read_at),
    links,
  });
  return [
    route({
      method: 'GET',
      path: '/v1/nodes/{node}/bios',
      summary: 'List the BIOS settings of a node, as its BMC showed them last.',
      query: listQuery.pick({ detail: true, fields: true }),
      answer: z.object({ bios: z.array(settingSchema) }),
      handle: async ({ params: { node }, query: { detail, fields }, request }) => {
        const shown = await settingsOf(ask, node);
        const rows = Object.keys(shown.bios).map((name) => ({
          ...rowOf(shown, name, ironicLinks(baseUrl(request), `nodes/${node}/bios/${encodeURIComponent(name)}`)),
          ...((detail || fields) && detailsOf(shown, name)),
        }));
        return { bios: fields ? rows.map((row) => pick(row, fields)) : rows };
      },
    }),
    route({
      method: 'GET',
      path: '/v1/nodes/{node}/bios/{name}',
      summary: 'Show a BIOS setting of a node, by its name.',
      answer: z.record(z.string(), settingSchema),
      handle: async ({ params: { node, name }, request }) => {
        const shown = await settingsOf(ask, node);
        if (!Object.hasOwn(shown.bios, name))
          throw new AnnealError('NotFound', `Node ${node} doesn't have a BIOS setting '${name.slice(0, 255)}'.`);
        const links = ironicLinks(baseUrl(request), `nodes/${node}/bios/${encodeURIComponent(name)}`);
        return { [name]: { ...rowOf(shown, name, links), ...detailsOf(shown, name) } };
      },
    }),
    route({
      method: 'GET',
      path: '/v1/nodes/{node}/firmware',
      summary: 'List the firmware of a node, as its BMC showed it last.',
      answer: z.object({ firmware: z.array(z.looseObject({ component: z.string() })) }),
      handle: async ({ params }) => ({ firmware: (await settingsOf(ask, params.node)).firmware.map(firmwareRow) }),
    }),
  ];
}

const firmwareRow = ({ created_at, updated_at, ...row }: HardwareSettings['firmware'][number]): object => ({
  ...row,
  created_at: ironicSeconds(created_at),
  updated_at: ironicSeconds(updated_at),
});
