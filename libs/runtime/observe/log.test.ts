/** The properties of an error that the log writes. */
import { Writable } from 'node:stream';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { expect, it } from 'vitest';
import { createLog } from './log.ts';

class Refusal extends AnnealError {
  readonly answer = { body: 'no login with hunter22' };
}

function lineOf(err: unknown): { err: Record<string, unknown>; text: string } {
  let text = '';
  const destination = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      text += chunk.toString();
      done();
    },
  });
  createLog({ level: 'info', format: 'json', destination }).info({ err }, 'failed');
  return { ...(JSON.parse(text) as { err: Record<string, unknown> }), text };
}

it('keeps the code, the details and the causes of an error', () => {
  const cause = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED', syscall: 'connect' });
  const { err } = lineOf(new AnnealError('BmcRefused', 'The BMC refused', { cause, details: { node: 'n1' } }));
  expect(err).toMatchObject({ code: 'BmcRefused', details: { node: 'n1' } });
  expect(err['message']).toBe('The BMC refused: connect ECONNREFUSED');
  expect(err['stack']).toContain('caused by: Error: connect ECONNREFUSED');
  expect(lineOf(cause).err).toMatchObject({ code: 'ECONNREFUSED', syscall: 'connect' });
});

it('keeps no other property, because a peer may have written it', () => {
  const refusal = new Refusal('BmcRefused', 'The BMC refused', { cause: new Refusal('BmcRefused', 'before') });
  expect(lineOf(refusal).text).not.toContain('hunter22');
  const { err, text } = lineOf(new AggregateError([refusal], 'all failed'));
  expect(text).not.toContain('hunter22');
  expect(err['aggregateErrors']).toMatchObject([{ message: 'The BMC refused: before' }]);
});

it('writes another value as it is', () => {
  expect(lineOf({ code: 'NotFound' }).err).toEqual({ code: 'NotFound' });
});
