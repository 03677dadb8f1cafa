/** Questions about stored configs. */
import { z } from 'zod';
import { call } from '../define.ts';
import { mistakeSchema, type Mistake } from '../failure.ts';
import { json, jsonObject } from '../json.ts';
import { configFault } from '../readers/script-text.ts';

/** A stored config. */
export const configViewSchema = z.object({
  id: z.string(),
  name: z.string(),
  project: z.string(),
  stack_id: z.string(),
  group: z.string(),
  config: json,
  inputs: z.array(jsonObject),
  outputs: z.array(jsonObject),
  options: jsonObject,
  created_at: z.iso.datetime().nullable(),
});
export type ConfigView = z.infer<typeof configViewSchema>;

export const configList = call(
  'config.list',
  'List the configs of a project: those of templates, and those derived for deployments.',
  {
    question: z.object({ project: z.string() }),
    answer: z.object({ configs: z.array(configViewSchema) }),
  },
);

export const configShow = call('config.show', 'Read a config: text, inputs, outputs, options.', {
  question: z.object({ project: z.string(), config: z.string() }),
  answer: configViewSchema,
});

const ioType = z.enum(['String', 'Number', 'CommaDelimitedList', 'Json', 'Boolean']);

const ioSchema = z.object({ name: z.string().min(1), description: z.string().nullish(), type: ioType.nullish() });

/** The parts of a config that a client chooses. */
export const configFieldsSchema = z.object({
  name: z.string().max(255),
  group: z.string().min(1).max(255),
  config: json,
  inputs: z.array(
    ioSchema.extend({ default: json.optional(), replace_on_change: z.boolean().nullish(), value: json.optional() }),
  ),
  outputs: z.array(ioSchema.extend({ error_output: z.boolean().nullish() })),
  options: jsonObject,
});

/** Faults of a new config that refuse nothing, in the answer of an API. */
export const configWarningsSchema = z.array(mistakeSchema).optional().meta({
  description: 'Faults that may make it fail on a host, such as lines that end with CRLF. Absent: none.',
});

/** The field `warnings` of the answer about a new config. */
export function configWarnings(config: Pick<ConfigView, 'name' | 'group' | 'config'>): { warnings?: Mistake[] } {
  const fault = configFault(config);
  const message = `config: config ${config.name} may fail: ${fault}`;
  return fault === undefined ? {} : { warnings: [{ code: 'ScriptText', path: 'config', message }] };
}

export const configCreate = call('config.create', 'Store a config. A config never changes. Idempotent by id.', {
  question: z.object({
    id: z.uuid(),
    project: z.string(),
    ...configFieldsSchema.shape,
    forget: z.boolean().optional().meta({
      description: 'Delete it by itself some time after the last deployment that runs it.',
    }),
  }),
  answer: configViewSchema,
});
export type ConfigCreate = z.infer<typeof configCreate.data>;

export const configDelete = call('config.delete', 'Delete a config that was stored by `config.create`.', {
  question: z.object({ project: z.string(), config: z.string() }),
  answer: z.object({}),
});
