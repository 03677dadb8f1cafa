/** The ways out that `why` names as commands, as actions of the console. */
import type { Client } from '@anneal/client/connect.ts';
import type { StackAct } from '@anneal/contracts/calls/scheduling.ts';

export interface ExitAction {
  readonly label: string;
  /** The same in the API. */
  readonly request: string;
  /** The message after its success. */
  readonly done: string;
  readonly run: (client: Client) => Promise<unknown>;
}

const onStack: Readonly<Record<string, { label: string; action: StackAct }>> = {
  retry: { label: 'Retry', action: { kind: 'retry' } },
  rollback: { label: 'Roll back', action: { kind: 'rollback' } },
};

/** The action of a command; undefined for a command that only a terminal runs. */
export function exitActionOf(command: string): ExitAction | undefined {
  const [program, noun, verb, ...words] = command.split(' ');
  if (program !== 'anneal') return undefined;
  const [first = '', second = '', third = ''] = words;
  const known = noun === 'stack' && words.length === 1 ? onStack[verb ?? ''] : undefined;
  if (known) {
    const run = (client: Client) => client.actions.act({ stack: first, action: known.action });
    const request = `POST /api/v1/stacks/${first}/actions`;
    return { label: known.label, request, done: `${known.label} of ${first} has started.`, run };
  }
  if (noun === 'hook' && verb === 'clear') {
    const action = { kind: 'clear hook', hook: third } as const;
    const run = (client: Client) => client.actions.actOn({ stack: first, resource: second, action });
    const request = `POST /api/v1/stacks/${first}/resources/${second}/actions`;
    return { label: `Clear ${third}`, request, done: `Cleared ${third} on ${second}.`, run };
  }
  if (noun === 'dead-letter' && verb === 'replay') {
    return {
      label: 'Replay',
      request: `POST /api/v1/dead-letters/${first}/replay`,
      done: 'Sent the message again.',
      run: (client) => client.deadLetters.replay({ id: first }),
    };
  }
  return undefined;
}
