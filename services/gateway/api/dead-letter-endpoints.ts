/** Dead letters: list, show, purge and replay. Secrets are masked. */
import type { Bus, DeadLetter } from '@anneal/bus/port.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { failureSchema } from '@anneal/contracts/failure.ts';
import { jsonObject, type Json } from '@anneal/contracts/json.ts';
import { jsonOrText } from '@anneal/contracts/plain-json.ts';
import { redaction } from '@anneal/runtime/secrets/redact.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import { z } from 'zod';
import { route, type Route } from '../http/route.ts';

const deadLetterSchema = z
  .object({
    id: z.string(),
    queue: z.string(),
    died_at: z.string(),
    attempts: z.number(),
    failure: failureSchema,
    history: z.array(z.object({ at: z.string(), error: z.string() })),
    message: z.unknown().optional(),
  })
  .meta({ id: 'DeadLetter' });
const limit = z.int().min(1).max(1000).default(20);

export function deadLetterEndpoints({ bus, secrets }: { bus: Bus; secrets: Secrets }): Route[] {
  const outlined = (letter: DeadLetter) => ({
    id: letter.id,
    queue: letter.queue,
    died_at: letter.diedAt,
    attempts: letter.attempts,
    failure: letter.failure,
    history: letter.history,
  });
  const shown = (letter: DeadLetter) => ({ ...outlined(letter), message: secrets.mask(jsonOrText(letter.bytes)) });

  return [
    route({
      method: 'GET',
      path: '/dead-letters',
      summary: 'List dead letters, oldest first: messages that could not be processed.',
      query: z.strictObject({
        queue: z.string().optional(),
        limit,
        after: z.string().optional().meta({ description: 'The id of the last one that the client has.' }),
        messages: z.boolean().default(true).meta({ description: 'false leaves the messages out.' }),
      }),
      answer: z.object({ dead_letters: z.array(deadLetterSchema) }),
      handle: async ({ query: { queue, limit: most, after, messages } }) => {
        const letters = await bus.deadLetters.list({
          limit: most,
          ...(queue !== undefined && { queue }),
          ...(after !== undefined && { after }),
        });
        return { dead_letters: letters.map(messages ? shown : outlined) };
      },
    }),
    route({
      method: 'GET',
      path: '/dead-letters/{id}',
      summary: 'Show a dead letter: its reason, its attempts and the message.',
      answer: deadLetterSchema,
      handle: async ({ params: { id } }) => {
        const letter = await bus.deadLetters.show(id);
        if (!letter) throw letterMissing(id);
        return shown(letter);
      },
    }),
    route({
      method: 'DELETE',
      path: '/dead-letters',
      summary: 'Purge all dead letters of a queue or, with all=true, of every queue.',
      query: z.strictObject({ queue: z.string().min(1).optional(), all: z.boolean().optional() }),
      status: 200,
      answer: z.object({ purged: z.number() }),
      handle: async ({ query: { queue, all } }) => {
        // A forgotten parameter must not delete every dead letter.
        if (queue === undefined && all !== true) {
          throw new AnnealError(
            'InvalidRequest',
            'Cannot purge dead letters without a queue: give queue=<name>, or all=true for every queue.',
          );
        }
        return { purged: await bus.deadLetters.purge(queue === undefined ? {} : { queue }) };
      },
    }),
    route({
      method: 'DELETE',
      path: '/dead-letters/{id}',
      summary: 'Purge a dead letter.',
      handle: async ({ params: { id } }) => {
        if ((await bus.deadLetters.purge({ id })) === 0) throw letterMissing(id);
      },
    }),
    replayEndpoint(bus),
  ];
}

const letterMissing = (id: string): AnnealError =>
  new AnnealError('NotFound', `There is no dead letter ${id}; it may have been replayed or purged.`);

const replayEndpoint = (bus: Bus): Route =>
  route({
    method: 'POST',
    path: '/dead-letters/{id}/replay',
    summary:
      'Replay a dead letter: send it again to the end of its original queue. `data` changes its data first, ' +
      'as a JSON merge patch (RFC 7396).',
    body: z.strictObject({ data: jsonObject.optional() }).nullish(),
    status: 202,
    answer: z.object({ id: z.string() }),
    handle: async ({ params: { id }, body }) => {
      const patch = body?.data;
      const masked = patch && pathsOf(patch, redaction);
      if (masked && masked.length > 0) {
        const mistakes = masked.map((path) => ({
          code: 'InvalidField' as const,
          path: `data.${path}`,
          message: 'is the mask of a secret; leave it out to keep the secret',
        }));
        const list = mistakes.map(({ path, message }) => `${path} ${message}`).join('; ');
        throw new AnnealError('InvalidRequest', `Cannot change the dead letter ${id}: ${list}.`, { mistakes });
      }
      if (!(await bus.deadLetters.replay(id, patch))) throw letterMissing(id);
      return { id };
    },
  });

/** The places of a text in a value. */
function pathsOf(value: Json, text: string, path: readonly (string | number)[] = []): string[] {
  if (value === text) return [path.join('.')];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => pathsOf(inner, text, [...path, key]));
}
