import { describe, expect, it } from 'vitest';
import { messagesIn, reasonIn } from './messages.ts';

describe('the reason of a controller', () => {
  it.each([
    [
      {
        error: {
          message: 'all',
          '@Message.ExtendedInfo': [{ Message: 'one' }, { Message: 'two' }, { Message: 'one' }],
        },
      },
      'one two',
    ],
    [{ error: { message: 'all', '@Message.ExtendedInfo': [] } }, 'all'],
    [{ error: { message: 'all', '@Message.ExtendedInfo': { Message: 'one' } } }, 'one'],
    [{ '@Message.ExtendedInfo': [null, 7, { MessageId: 'Base.1.0.ResourceInUse' }] }, 'ResourceInUse'],
    [{ Messages: [{ Message: 'started', Severity: 'OK' }] }, 'started'],
    [{ text: '<html>' }, '<html>'],
    [{ error: 'no object' }, 'no reason given'],
    [{}, 'no reason given'],
  ])('in %j is: %s', (body, reason) => {
    expect(reasonIn(body)).toBe(reason);
  });

  it('has at most 500 characters', () => {
    expect(reasonIn({ error: { message: 'x'.repeat(900) } })).toHaveLength(500);
  });

  it('names properties by the last word of their pointers', () => {
    const info = {
      MessageId: 'Base.1.8.PropertyMissing',
      RelatedProperties: ['#/Boot/Target', 'Image'],
      MessageArgs: ['A', 1],
    };
    expect(messagesIn({ '@Message.ExtendedInfo': [info] })).toMatchObject([
      { key: 'PropertyMissing', args: ['A'], properties: ['Target', 'Image'], isProblem: true },
    ]);
  });
});
