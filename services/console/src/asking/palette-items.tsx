/** What the palette offers beside the pages: objects that the server finds, and actions. */
import { objectKinds, type FoundObject, type ObjectKind } from '@anneal/contracts/calls/found-objects.ts';
import { useNavigate, type NavigateOptions } from '@tanstack/react-router';
import { Command } from 'cmdk';
import { useState } from 'react';
import { useAskEach } from '../live/ask.ts';
import { useSession } from '../session/session.tsx';
import { randomId } from '../parts/random-id.ts';
import { toggleTheme } from '../parts/theme.ts';

/** Closes the palette, then acts. */
type Go = (act: () => unknown) => () => void;

/** Shown of one kind, and of each kind when the reader names none. */
const mostOfOne = 20;
const mostOfEach = 8;

const titles: Readonly<Record<ObjectKind, string>> = {
  stack: 'Stacks',
  group: 'Groups that scale',
  host: 'Hosts',
  node: 'Nodes',
  queue: 'Queues',
  image: 'Images',
  workflow: 'Workflows',
  schedule: 'Schedules of workflows',
  subscription: 'Subscriptions',
  project: 'Projects',
  user: 'Users',
};

/** The address of an object. */
const placeOf = ({ kind, id, name, stack = '' }: FoundObject): NavigateOptions => {
  switch (kind) {
    case 'stack':
      return { to: '/stacks/$stack', params: { stack: name } };
    case 'group':
      return { to: '/stacks/$stack', params: { stack }, search: { tab: 'scaling' }, hash: `group-${name}` };
    case 'host':
      return { to: '/hosts/$host', params: { host: name } };
    case 'node':
      return { to: '/nodes/$node', params: { node: name } };
    case 'queue':
      return { to: '/queues/$queue', params: { queue: name } };
    case 'image':
      return { to: '/images/$image', params: { image: name } };
    case 'workflow':
    case 'schedule':
      return { to: '/workflows', search: { find: name } };
    case 'subscription':
      return { to: '/subscriptions', search: { sel: id } };
    case 'project':
      return { to: '/projects/$project', params: { project: id } };
    case 'user':
      return { to: '/users/$user', params: { user: id } };
  }
};

/** `stack web` as stacks with the word web. */
function wishOf(find: string): { readonly kind?: ObjectKind; readonly words: string } {
  const [, first = '', words = ''] = /^(\S+?)s?(?:\s+(.*))?$/i.exec(find) ?? [];
  const kind = objectKinds.find((one) => one === first.toLowerCase());
  return kind === undefined ? { words: find } : { kind, words };
}

/** The objects that the server finds by the typed words. */
export function FoundObjects({ find, go }: { find: string; go: Go }) {
  const navigate = useNavigate();
  const { kind, words } = wishOf(find);
  // No event reports every kind, so each opening asks again.
  const [opening] = useState(randomId);
  // The rows before stay until the next are here, so that Enter never finds an empty list.
  const [found] = useAskEach([
    {
      key: ['objects', 'palette', opening, find],
      ask: async (client) => ({
        ...(await client.objects({ find: words, kind, limit: kind === undefined ? mostOfEach : mostOfOne })),
        // The server has matched the words, also with texts that the name does not have.
        matched: find.split(/\s+/),
      }),
    },
  ]);
  const { objects = [], unavailable = [], matched = [] } = found?.data ?? {};
  return (
    <>
      {objectKinds.map((each) => {
        const rows = objects.filter((object) => object.kind === each);
        return (
          rows.length > 0 && (
            <Command.Group key={each} heading={titles[each]}>
              {rows.map((object) => (
                <Command.Item
                  key={object.id}
                  value={`${each} ${object.name} ${object.id}`}
                  keywords={matched}
                  onSelect={go(() => navigate(placeOf(object)))}
                >
                  <span className="grow cut">{object.name}</span> <span className="dim">{object.stack ?? each}</span>
                </Command.Item>
              ))}
            </Command.Group>
          )
        );
      })}
      {unavailable.length > 0 && (
        <Command.Group heading="Not searched" forceMount>
          <p className="quiet dim">
            No service answers for {unavailable.map((each) => titles[each].toLowerCase()).join(', ')}.
          </p>
        </Command.Group>
      )}
    </>
  );
}

/** A button of the shown page, or a link that looks like one. */
interface PageAction {
  readonly label: string;
  /** The part of the page that it belongs to. */
  readonly part: string;
  readonly press: () => void;
}

/** The buttons and links that can be pressed now. */
export function actionsOnPage(): readonly PageAction[] {
  const buttons = [...document.querySelectorAll<HTMLElement>('main :is(button, a).button:not(:disabled)')];
  return buttons.flatMap((button) => {
    const label = button.textContent.trim();
    const part = button.closest('section[aria-label]')?.getAttribute('aria-label') ?? '';
    return button.checkVisibility() && /\p{Letter}/u.test(label)
      ? [
          {
            label,
            part,
            press: () => {
              button.focus();
              button.click();
            },
          },
        ]
      : [];
  });
}

export function PageActions({ onPage, go }: { onPage: readonly PageAction[]; go: Go }) {
  if (onPage.length === 0) return null;
  return (
    <Command.Group heading="Actions on this page">
      {onPage.map(({ label, part, press }, at) => (
        <Command.Item
          // Several rows may have the same action.
          key={`${part} ${label} ${String(at)}`}
          value={`${label} ${part} action ${String(at)}`}
          // The dialog gives the focus back before the button gets it.
          onSelect={go(() => setTimeout(press))}
        >
          <span className="grow cut">{label}</span> <span className="dim cut">{part}</span>
        </Command.Item>
      ))}
    </Command.Group>
  );
}

interface PaletteAction {
  readonly label: string;
  /** Other words by which it is found. */
  readonly words?: string;
  readonly act: () => unknown;
}

/** The actions of every page. */
export function Actions({ go }: { go: Go }) {
  const navigate = useNavigate();
  const { session, logOut } = useSession();
  const forOperators: readonly PaletteAction[] = [
    { label: 'Add an image', act: () => navigate({ to: '/images', search: { tab: 'add' } }) },
    { label: 'New project', words: 'create', act: () => navigate({ to: '/projects', search: { tab: 'new' } }) },
    { label: 'New user', words: 'create', act: () => navigate({ to: '/users', search: { tab: 'new' } }) },
  ];
  const everywhere: readonly PaletteAction[] = [
    { label: 'New stack', words: 'create', act: () => navigate({ to: '/create' }) },
    { label: 'Take over a stack', words: 'adopt import heat', act: () => navigate({ to: '/take-over' }) },
    { label: 'Run a command on hosts', act: () => navigate({ to: '/hosts', search: { tab: 'run' } }) },
    { label: 'Join a machine', words: 'host', act: () => navigate({ to: '/hosts', search: { tab: 'join' } }) },
    { label: 'Enrol nodes', act: () => navigate({ to: '/nodes', search: { tab: 'enrol' } }) },
    { label: 'Subscribe to events', act: () => navigate({ to: '/subscriptions', search: { tab: 'new' } }) },
    { label: 'Start a workflow', words: 'execution', act: () => navigate({ to: '/workflows' }) },
    { label: 'Store workflows', words: 'create', act: () => navigate({ to: '/workflows', search: { tab: 'store' } }) },
    { label: 'New token', words: 'create program', act: () => navigate({ to: '/tokens' }) },
    ...(session.operator ? forOperators : []),
    { label: 'Change the theme', words: 'dark light', act: toggleTheme },
    { label: `Log out ${session.user.name}`, act: logOut },
  ];
  return (
    <Command.Group heading="Actions">
      {everywhere.map(({ label, words = '', act }) => (
        <Command.Item key={label} value={`${label} ${words} action`} onSelect={go(act)}>
          {label}
        </Command.Item>
      ))}
    </Command.Group>
  );
}
