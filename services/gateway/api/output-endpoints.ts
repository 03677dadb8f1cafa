/** The streams and outputs of deployments: as a file, and live as server-sent events. */
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { deploymentShow } from '@anneal/contracts/calls/deployments.ts';
import { outputRead, storedNameSchema, type OutputRead } from '@anneal/contracts/output.ts';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { projectOf } from '../identity/caller.ts';
import { route, type Route } from '../http/route.ts';
import type { Stream, Streams } from '../http/event-stream.ts';

export interface OutputEndpointOptions {
  ask: Ask;
  streams: Streams;
  heartbeatMs: number;
}

/** Time between two looks for a client that follows. Only clients that follow cause them. */
const lookEveryMs = 250;
const names = ['stdout', 'stderr'] as const;

interface Question {
  readonly project: string;
  readonly deployment: string;
}
interface From {
  readonly name: string;
  readonly offset: number;
}
const readFrom = (ask: Ask, data: Question & { run?: string; from: From[] }): Promise<OutputRead> =>
  ask('configuration', outputRead, { project: data.project, data });

export const outputEndpoints = ({ ask, streams, heartbeatMs }: OutputEndpointOptions): Route[] => [
  route({
    method: 'GET',
    path: '/deployments/{deployment}/output/{name}',
    summary:
      'Download what is stored of `stdout`, `stderr` or `outputs.<name>` of the latest run, byte by byte. Hidden values are masked.',
    answerType: 'application/octet-stream',
    answer: z.unknown(),
    handle: async ({ request, reply, params }) => {
      const name = storedNameSchema.safeParse(params['name']);
      const question = { project: projectOf(request), deployment: params['deployment'] ?? '' };
      if (!name.success) throw noOutput(params['name'] ?? '', question);
      const first = await readFrom(ask, { ...question, from: [{ name: name.data, offset: 0 }] });
      // Pieces are stored of large outputs only. A small one came with the answer.
      if (!name.data.startsWith('std') && first.parts[0]?.bytes === 0) {
        const { output_values: values } = await ask('configuration', deploymentShow, {
          project: question.project,
          data: question,
        });
        const value = values[name.data.slice('outputs.'.length)];
        if (value === undefined || value === null) throw noOutput(name.data, question);
        const text = typeof value === 'string' ? value : JSON.stringify(value);
        return reply
          .type('application/octet-stream')
          .header('content-disposition', 'attachment')
          .send(Buffer.from(text));
      }
      const pages = pagesOf(ask, { ...question, name: name.data, first });
      return reply
        .type('application/octet-stream')
        .header('content-disposition', 'attachment')
        .send(Readable.from(pages, { objectMode: false }));
    },
  }),
  route({
    method: 'GET',
    path: '/deployments/{deployment}/logs',
    summary:
      'Stream the output of a deployment as it arrives, as server-sent events: `state`, `output` with base64 bytes, and `end`.',
    stream: 'only',
    query: z.strictObject({
      follow: z.boolean().default(true).meta({
        description: '`false` ends the stream after what is stored now.',
      }),
    }),
    answer: z.unknown(),
    handle: async ({ request, reply, params, query }) => {
      const question = { project: projectOf(request), deployment: params['deployment'] ?? '' };
      const last = request.headers['last-event-id'];
      const start = positionIn(typeof last === 'string' ? last : '');
      // Report errors in the request before the stream opens.
      await readFrom(ask, { ...question, from: [] });
      await streams.open(reply, (stream) =>
        follow(ask, stream, { ...question, start, heartbeatMs, waits: query.follow }),
      );
    },
  }),
];

const noOutput = (name: string, { deployment }: Question): AnnealError =>
  new AnnealError('NotFound', `Nothing is stored of ${name.slice(0, 255)} of the deployment ${deployment}.`);

async function* pagesOf(
  ask: Ask,
  { first, name, ...question }: Question & { name: string; first: OutputRead },
): AsyncGenerator<Buffer> {
  const run = first.run === null ? {} : { run: first.run };
  for (let answer = first, offset = -1; ;) {
    const [part] = answer.parts;
    // Another run has begun, or nothing more can be shown.
    if (!part || part.next === offset || (first.run !== null && answer.run !== first.run)) return;
    offset = part.next;
    if (part.data !== '') yield Buffer.from(part.data, 'base64');
    if (offset >= part.bytes) return;
    answer = await readFrom(ask, { ...question, ...run, from: [{ name, offset }] });
  }
}

interface Position {
  readonly run: string | undefined;
  readonly stdout: number;
  readonly stderr: number;
}

/** The id of an event is the position behind it. */
const positionIn = (id: string): Position => {
  const [, run, stdout, stderr] = /^([0-9a-f-]{36}):(\d{1,15}):(\d{1,15})$/.exec(id) ?? [];
  return { run, stdout: Number(stdout ?? 0), stderr: Number(stderr ?? 0) };
};

async function follow(
  ask: Ask,
  stream: Stream,
  { start, heartbeatMs, waits, ...question }: Question & { start: Position; heartbeatMs: number; waits: boolean },
): Promise<void> {
  let at = start;
  let state = '';
  let quietSince = performance.now();
  while (!stream.signal.aborted) {
    const from = names.map((name) => ({ name, offset: at[name] }));
    const answer = await readFrom(ask, { ...question, ...(at.run !== undefined && { run: at.run }), from });
    const { run, status, reason, ended, parts } = answer;
    const idOf = ({ stdout, stderr }: Position): { id?: string } =>
      run === null ? {} : { id: `${run}:${stdout}:${stderr}` };
    if (run !== at.run) at = { run: run ?? undefined, stdout: 0, stderr: 0 };
    const said = `${run} ${status} ${reason}`;
    if (said !== state) await stream.send({ name: 'state', data: { run, status, reason } });
    state = said;
    let isMore = false;
    for (const { name, data, next } of parts) {
      isMore ||= next > at[name as 'stdout' | 'stderr'];
      at = { ...at, [name]: next };
      if (data === '') continue;
      await stream.send({ ...idOf(at), name: 'output', data: { stream: name, data } });
      quietSince = performance.now();
    }
    if (isMore) continue;
    if (ended || !waits) {
      await stream.send({ ...idOf(at), name: 'end', data: { run, status, reason } });
      return;
    }
    if (performance.now() - quietSince > heartbeatMs) {
      await stream.heartbeat();
      quietSince = performance.now();
    }
    await sleep(lookEveryMs, undefined, { signal: stream.signal }).catch(() => undefined);
  }
}
