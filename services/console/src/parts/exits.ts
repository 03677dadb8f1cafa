/** The ways out that `why` names as commands: as actions and pages of the console. Pure. */
import { createReplayer } from '@anneal/client/replay-letters.ts';
import type { Client } from '@anneal/client/connect.ts';
import type { StackAct } from '@anneal/contracts/calls/stacks.ts';
import { refuseDead } from './replayed.ts';

export interface ExitAction {
  readonly label: string;
  /** The same in the API. */
  readonly request: string;
  /** The message after its success. */
  readonly done: string;
  readonly run: (client: Client) => Promise<unknown>;
}
/** A page that shows what the command prints, or that has a form for what it does, or asks before it. */
export interface ExitPage {
  readonly label: string;
  readonly href: string;
}

const encoded = encodeURIComponent;

const onStack: Readonly<Record<string, { label: string; action: StackAct }>> = {
  retry: { label: 'Retry', action: { kind: 'retry' } },
  rollback: { label: 'Roll back', action: { kind: 'rollback' } },
  resume: { label: 'Resume', action: { kind: 'resume' } },
};

function actionOnStack(stack: string, verb: string): ExitAction | undefined {
  const known = onStack[verb];
  if (!known) return undefined;
  const { label, action } = known;
  return {
    label,
    request: `POST /api/v1/stacks/${encoded(stack)}/actions`,
    done: `${label} of ${stack} has started.`,
    run: (client) => client.actions.act({ stack, action }),
  };
}

type Execution = Parameters<Client['executions']['act']>[0]['action'];

const onExecution = (id: string, label: string, action: Execution): ExitAction => ({
  label,
  request: `POST /api/v1/executions/${encoded(id)}/action`,
  done: `${label}: done.`,
  run: (client) => client.executions.act({ id, action }),
});

/** The words of a command behind `anneal`; undefined for other instructions. */
function wordsOf(command: string): readonly string[] | undefined {
  const [program, ...words] = command.split(' ');
  return program === 'anneal' ? words : undefined;
}

/** The action of a command; undefined for a command that the console does not run by one press. */
export function exitActionOf(command: string): ExitAction | undefined {
  const [noun, verb = '', first = '', second = '', third = '', ...more] = wordsOf(command) ?? [];
  if (noun === 'stack' && third === '') return actionOnStack(first, second === '' ? verb : `${verb} ${second}`);
  if (noun === 'hook' && verb === 'clear' && more.length === 0) {
    const action = { kind: 'clear hook', hook: third } as const;
    const run = (client: Client) => client.actions.actOn({ stack: first, resource: second, action });
    const request = `POST /api/v1/stacks/${encoded(first)}/resources/${encoded(second)}/actions`;
    return { label: `Clear ${third}`, request, done: `Cleared ${third} on ${second}.`, run };
  }
  if (noun === 'node' && verb === 'provide' && second === '--verb' && third === 'manage') {
    return {
      label: 'Verify again',
      request: `PUT /baremetal/v1/nodes/${encoded(first)}/states/provision`,
      done: `The verification of ${first} has started.`,
      run: (client) => client.nodes.provision({ node: first, target: 'manage' }),
    };
  }
  if (noun === 'dead-letter' && verb === 'replay') {
    return {
      label: 'Replay',
      request: `POST /api/v1/dead-letters/${first}/replay`,
      done: 'Sent the message again.',
      run: async (client) => refuseDead([await createReplayer(client.deadLetters)({ id: first })]),
    };
  }
  if (noun === 'workflow' && verb === 'resume') return onExecution(first, 'Resume the workflow', { kind: 'resume' });
  return undefined;
}

const pages: Readonly<Record<string, (words: readonly string[]) => ExitPage>> = {
  'stack failures': ([stack = '']) => ({ label: 'Failures', href: `/stacks/${encoded(stack)}` }),
  'stack update': ([stack = '']) => ({ label: 'Change …', href: `/stacks/${encoded(stack)}/change` }),
  'stack cancel': ([stack = '']) => ({ label: 'Cancel …', href: `/stacks/${encoded(stack)}` }),
  'stack delete': ([stack = '']) => ({ label: 'Delete …', href: `/stacks/${encoded(stack)}` }),
  'resource skip': ([stack = '', name = '']) => ({
    label: `Skip ${name} …`,
    href: `/stacks/${encoded(stack)}?tab=resources&sel=${encoded(name)}`,
  }),
  'resource show': ([stack = '', name = '']) => ({
    label: `Show ${name}`,
    href: `/stacks/${encoded(stack)}?tab=resources&sel=${encoded(name)}`,
  }),
  'group show': ([stack = '', name = '']) => ({
    label: `Show ${name}`,
    href: `/stacks/${encoded(stack)}?tab=scaling#group-${encoded(name)}`,
  }),
  'group resize': ([stack = '', name = '']) => ({
    label: `Resize ${name} …`,
    href: `/stacks/${encoded(stack)}?tab=scaling#group-${encoded(name)}`,
  }),
  'node show': ([name = '']) => ({ label: `Show ${name}`, href: `/nodes/${encoded(name)}` }),
  'host show': ([name = '']) => ({ label: `Show ${name}`, href: `/hosts/${encoded(name)}` }),
  'queue peek': ([name = '']) => ({ label: 'Look into the queue', href: `/queues/${encoded(name)}` }),
  'service list': () => ({ label: 'Services', href: '/services' }),
  'subscription show': ([id = '']) => ({ label: 'Subscription', href: `/subscriptions?sel=${encoded(id)}` }),
  'dead-letter show': () => ({ label: 'Dead letters', href: '/dead-letters' }),
  'workflow tasks': ([id = '']) => ({ label: 'Show the workflow', href: `/workflows?sel=${encoded(id)}` }),
  'project quota': ([id = '']) => ({ label: 'Quota', href: `/projects/${encoded(id)}` }),
};

/** Whether an address of the console is the one that is shown; the shown one may say more. */
export function isShown(href: string, shown: { readonly pathname: string; readonly searchStr: string }): boolean {
  const wanted = new URL(href, 'http://console');
  const search = new URLSearchParams(shown.searchStr);
  return (
    wanted.pathname === shown.pathname && [...wanted.searchParams].every(([key, value]) => search.get(key) === value)
  );
}

/** The page for a command; undefined when only a terminal has it. */
export function exitPageOf(command: string): ExitPage | undefined {
  const [noun = '', verb = '', ...rest] = wordsOf(command) ?? [];
  // A cancel without a rollback is asked for on the same page.
  if (rest.some((word) => word.startsWith('-') && word !== '--no-rollback')) return undefined;
  return pages[`${noun} ${verb}`]?.(rest);
}
