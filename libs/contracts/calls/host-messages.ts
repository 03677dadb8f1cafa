/** The messages in the two queues of a host: requests to run a config, and responses. */
import { z } from 'zod';
import { call, message } from '../define.ts';
import { json, type JsonObject, jsonObject } from '../json.ts';
import { sha256Schema } from '../readers/checksum.ts';
import { hostCaller } from './queues.ts';

/** Where a host finds a long config, or the long value of an input, that its request only names. */
export const configReferenceSchema = z.object({
  sha256: sha256Schema.meta({ description: 'Of the bytes, in hexadecimal digits.' }),
  size: z.number().int().positive().meta({ description: 'In bytes.' }),
  url: z.string().meta({
    description:
      'Relative to the address of the server. The host posts a form with the field `id`, the id of the request, its token, and for an input the field `input`, its name.',
  }),
});
export type ConfigReference = z.infer<typeof configReferenceSchema>;

export const runConfig = call(
  'run.config',
  'Find the stored config of a run, or the value of an input, for its host.',
  {
    question: z.object({
      caller: hostCaller,
      run: z.string(),
      input: z.string().optional().meta({ description: 'The name of an input. Absent: the config.' }),
    }),
    answer: z.object({
      blob: z.string().meta({ description: 'The blob that has the value, after its first line, as JSON.' }),
    }),
  },
);

/** One config to apply: heat-agents' deployment document, so that its hooks can use it unchanged. */
export const hostRequestSchema = z.object({
  id: z.string().meta({ description: 'New for every intended run; a host never runs the same id twice.' }),
  deployment_id: z.string(),
  name: z.string(),
  group: z.string().meta({ description: 'The tool that applies it: `script`, `ansible`, …' }),
  config: json,
  config_ref: configReferenceSchema.optional().meta({
    description:
      'Only for hosts that ask for references: the config is a long text, which the host fetches. `config` is empty.',
  }),
  action: z.string().min(1).max(255).meta({
    description: 'CREATE, UPDATE, DELETE, SUSPEND or RESUME; a deployment made over the API may name its own.',
  }),
  inputs: z.array(
    z.object({
      name: z.string(),
      type: z.string(),
      value: json,
      value_ref: configReferenceSchema.optional().meta({
        description: 'Only for hosts that ask for references: the value is long, and the host fetches its JSON text.',
      }),
    }),
  ),
  outputs: z.array(z.object({ name: z.string(), type: z.string(), error_output: z.boolean().optional() })),
  options: jsonObject,
  timeout: z.number().positive().optional().meta({
    description: 'Time limit in seconds, counted from its start on the host. Absent in requests of older services.',
  }),
  deadline: z.iso.datetime().meta({
    description: 'The latest time for the host to end it. Computed again whenever the request is handed out.',
  }),
  creation_time: z.iso.datetime(),
});
export type HostRequest = z.infer<typeof hostRequestSchema>;

/** The last message to a host on a broker, before its credentials end. A host over HTTP gets the status 410 instead. */
export const hostFarewellSchema = z.strictObject({ deleted: z.literal(true), host_id: z.string() });
export type HostFarewell = z.infer<typeof hostFarewellSchema>;

/** The largest part of a stream in a response, in bytes; the end of the stream is kept. */
export const outputLimit = 64 * 1024;

/** The error of a run that its host ended because the server withdrew it. */
export const stoppedReason =
  'stopped: the server withdrew it, because a newer request replaced it or its deployment has ended';

/** `options.grace`: milliseconds between SIGTERM and SIGKILL when a host ends a run. */
export const graceMs = ({ grace }: JsonObject): number => {
  const seconds = Number(grace ?? 5);
  return Number.isFinite(seconds) && seconds >= 0 ? Math.min(seconds, 3600) * 1000 : 5000;
};

/** The answer of a host to a request, in its responses queue. */
export const hostResponseSchema = z.object({
  id: z.string().meta({ description: 'The id of the request that this answers.' }),
  status_code: z.number().int(),
  stdout: z.string().default(''),
  stderr: z.string().default(''),
  truncated: z.boolean().default(false).meta({ description: 'True where the stream was longer than this text.' }),
  outputs: jsonObject.default({}),
  facts: jsonObject.optional(),
  started_at: z.iso.datetime().optional(),
  finished_at: z.iso.datetime().optional(),
  error: z.string().optional().meta({ description: 'The reason when the run did not complete.' }),
  reboots: z.number().int().min(0).optional().meta({ description: 'The reboots of the host for this run.' }),
  stored: z.array(z.string()).max(1000).optional().meta({
    description:
      'Names of outputs that the host sent as bytes before (`run.report`), because they are long or no text.',
  }),
});
export type HostResponse = z.infer<typeof hostResponseSchema>;

/** A host's message without a request: it is up, with its facts. */
export const hostHelloSchema = z.object({ hello: z.literal(true), facts: jsonObject.default({}) });
export type HostHello = z.infer<typeof hostHelloSchema>;

/** A reboot of a host for the config that it runs. */
const hostRebootSchema = z.object({
  number: z.number().int().min(1).max(1000).meta({ description: 'The reboots for this run, with this one.' }),
  over: z.boolean().optional().meta({ description: 'True when the host is back.' }),
});
export type HostReboot = z.infer<typeof hostRebootSchema>;

/** The progress of a running request. */
export const hostProgressSchema = z.object({
  id: z.string(),
  progress: z.enum(['accepted', 'started']),
  at: z.iso.datetime().optional().meta({ description: 'Absent: the time when the service received it.' }),
  reboot: hostRebootSchema.optional().meta({
    description:
      'The host reboots for the config, or has done so. With `progress: started`, as older services read it.',
  }),
});
export type HostProgress = z.infer<typeof hostProgressSchema>;

/**
 * Sent by the configuration service to itself, so that a wrong message of a host becomes a dead letter that can be
 * replayed.
 */
export const hostMessageRefused = message(
  'host.message.refused',
  'A message in the responses queue of a host that is not a response, progress or hello.',
  z.object({
    host_id: z.string(),
    host_name: z.string(),
    queue: z.string(),
    message_id: z.string(),
    run: z.string().optional().meta({
      description: 'The run that it answers, when the address or the grant of its sender names it.',
    }),
    body: json.meta({ description: 'As it was sent; a text when it is not readable.' }),
  }),
);
