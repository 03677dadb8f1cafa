/** The palette (Ctrl K): every page and every object by its name. Also the keys that jump to a page. */
import type { PageOf } from '@anneal/client/page.ts';
import type { PageRequest } from '@anneal/contracts/page.ts';
import { useIsFetching } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Command } from 'cmdk';
import { useEffect, useState } from 'react';
import { useAsk } from '../live/ask.ts';
import { isTyping } from './filter.tsx';
import { toggleTheme } from './theme.ts';
import { useQuiet } from './use-quiet.ts';

const pages = [
  { key: 'h', name: 'Home', to: '/' },
  { key: 's', name: 'Stacks', to: '/stacks' },
  { key: 'c', name: 'Scaling', to: '/scaling' },
  { key: 'q', name: 'Queues', to: '/queues' },
  { key: 'o', name: 'Hosts', to: '/hosts' },
  { key: 'n', name: 'Nodes', to: '/nodes' },
  { key: 'i', name: 'Images', to: '/images' },
  { key: 'e', name: 'Events', to: '/events' },
  { key: 'd', name: 'Dead letters', to: '/dead-letters' },
  { key: 'v', name: 'Services', to: '/services' },
  { key: 'u', name: 'Subscriptions', to: '/subscriptions' },
  { key: 'w', name: 'Workflows', to: '/workflows' },
  { key: 'p', name: 'Projects', to: '/projects' },
  { key: 'r', name: 'Users', to: '/users' },
  { key: 't', name: 'Tokens', to: '/tokens' },
] as const;

interface PaletteState {
  readonly isOpen: boolean;
  readonly open: () => void;
  readonly close: () => void;
}

/** Opens with Ctrl K, or with `?` for the keys. `g` and a letter jumps to a page. */
export function usePalette(): PaletteState {
  const [isOpen, setOpen] = useState(false);
  const navigate = useNavigate();
  useEffect(() => {
    let isGoing = false;
    const press = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        setOpen(true);
        return;
      }
      if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === '?') setOpen(true);
      const page = isGoing ? pages.find(({ key }) => key === event.key) : undefined;
      isGoing = event.key === 'g';
      if (page) void navigate({ to: page.to });
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, [navigate]);
  return { isOpen, open: () => setOpen(true), close: () => setOpen(false) };
}

/** Shown of each kind. The server has found the best by the typed words. */
const mostShown = 20;
/** The writer of a search has stopped to type. */
const typingMs = 120;

export function Palette({ isOpen, close }: PaletteState) {
  const [typed, setTyped] = useState('');
  const searches = useIsFetching({ predicate: ({ queryKey }) => queryKey[1] === 'palette' });
  const isSearching = useQuiet(typed.trim(), typingMs) !== typed.trim() || searches > 0;
  return (
    <Command.Dialog
      open={isOpen}
      onOpenChange={(next) => {
        setTyped('');
        if (!next) close();
      }}
      label="Find or run anything"
      overlayClassName="veil"
      contentClassName="dialog palette"
    >
      <Command.Input placeholder="A page, a stack, a host, a node …" value={typed} onValueChange={setTyped} />
      <Command.List>
        <Command.Empty>
          {isSearching ? 'Searching …' : 'No page, action, stack, host or node has this name.'}
        </Command.Empty>
        {isOpen && (
          <Items
            typed={typed}
            close={() => {
              setTyped('');
              close();
            }}
          />
        )}
      </Command.List>
      <p className="keys dim wide-only">
        <kbd>/</kbd> filters a list <kbd>j</kbd> <kbd>k</kbd> next and previous row <kbd>g</kbd> and a letter goes to a
        page <kbd>Esc</kbd> back
      </p>
    </Command.Dialog>
  );
}

function Items({ typed, close }: { typed: string; close: () => void }) {
  const navigate = useNavigate();
  const go = (to: () => Promise<void>) => () => {
    close();
    void to();
  };
  return (
    <>
      <Command.Group heading="Pages">
        {pages.map(({ name, to, key }) => (
          <Command.Item key={to} value={`page ${name}`} onSelect={go(() => navigate({ to }))}>
            <span className="grow">{name}</span> <kbd>g {key}</kbd>
          </Command.Item>
        ))}
      </Command.Group>
      <Objects find={useQuiet(typed.trim(), typingMs)} go={go} />
      <Command.Group heading="Actions">
        <Command.Item value="new stack create" onSelect={go(() => navigate({ to: '/create' }))}>
          New stack
        </Command.Item>
        <Command.Item value="take over a stack adopt import heat" onSelect={go(() => navigate({ to: '/take-over' }))}>
          Take over a stack
        </Command.Item>
        <Command.Item
          value="run a command on hosts"
          onSelect={go(() => navigate({ to: '/hosts', search: { tab: 'run' } }))}
        >
          Run a command on hosts
        </Command.Item>
        <Command.Item
          value="join a machine host"
          onSelect={go(() => navigate({ to: '/hosts', search: { tab: 'join' } }))}
        >
          Join a machine
        </Command.Item>
        <Command.Item value="enrol nodes" onSelect={go(() => navigate({ to: '/nodes', search: { tab: 'enrol' } }))}>
          Enrol nodes
        </Command.Item>
        <Command.Item value="change the theme dark light" onSelect={go(() => Promise.resolve(toggleTheme()))}>
          Change the theme
        </Command.Item>
      </Command.Group>
    </>
  );
}

/** `stack web` as stacks with the word web. */
function wishOf(find: string): { readonly kind?: string; readonly words: string } {
  const [, kind, words = ''] = /^(stack|host|node)s?(?:\s+(.*))?$/i.exec(find) ?? [];
  return kind === undefined ? { words: find } : { kind: kind.toLowerCase(), words };
}

/** The objects that the server finds by the typed words. */
function Objects({ find, go }: { find: string; go: (to: () => Promise<void>) => () => void }) {
  const navigate = useNavigate();
  const { kind, words } = wishOf(find);
  /** The rows of a list; none when the reader has named another kind. */
  const ask = <T,>(own: string, read: (page: PageRequest) => Promise<PageOf<T>>): Promise<readonly T[]> =>
    kind === undefined || kind === own
      ? read({ limit: mostShown, ...(words !== '' && { find: words }) }).then(({ rows }) => rows)
      : Promise.resolve([]);
  const stacks = useAsk(['stacks', 'palette', find], (client) => ask('stack', (page) => client.stacks.page(page)));
  const hosts = useAsk(['hosts', 'palette', find], (client) => ask('host', (page) => client.hosts.page(page)));
  const nodes = useAsk(['nodes', 'palette', find], (client) => ask('node', (page) => client.nodes.page(page)));
  // The server has matched the words, also with texts that the name does not have.
  const matched = find.split(/\s+/);
  return (
    <>
      <Command.Group heading="Stacks">
        {(stacks.data ?? []).map(({ id, stack_name: name }) => (
          <Command.Item
            key={id}
            value={`stack ${name} ${id}`}
            keywords={matched}
            onSelect={go(() => navigate({ to: '/stacks/$stack', params: { stack: name } }))}
          >
            {name}
          </Command.Item>
        ))}
      </Command.Group>
      <Command.Group heading="Hosts">
        {(hosts.data ?? []).map(({ id, name }) => (
          <Command.Item
            key={id}
            value={`host ${name} ${id}`}
            keywords={matched}
            onSelect={go(() => navigate({ to: '/hosts/$host', params: { host: name } }))}
          >
            {name}
          </Command.Item>
        ))}
      </Command.Group>
      <Command.Group heading="Nodes">
        {(nodes.data ?? []).map(({ uuid, name }) => (
          <Command.Item
            key={uuid}
            value={`node ${name ?? ''} ${uuid}`}
            keywords={matched}
            onSelect={go(() => navigate({ to: '/nodes/$node', params: { node: name ?? uuid } }))}
          >
            {name ?? uuid}
          </Command.Item>
        ))}
      </Command.Group>
    </>
  );
}
