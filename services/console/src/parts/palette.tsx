/** The palette (Ctrl K): every page and every object by its name. Also the keys that jump to a page. */
import { useNavigate } from '@tanstack/react-router';
import { Command } from 'cmdk';
import { useEffect, useState } from 'react';
import { useAsk } from '../live/ask.ts';
import { isTyping } from './filter.tsx';
import { toggleTheme } from './theme.ts';

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

/** Opens with Ctrl K. `g` and a letter jumps to a page. */
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
      const page = isGoing ? pages.find(({ key }) => key === event.key) : undefined;
      isGoing = event.key === 'g';
      if (page) void navigate({ to: page.to });
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, [navigate]);
  return { isOpen, open: () => setOpen(true), close: () => setOpen(false) };
}

export function Palette({ isOpen, close }: PaletteState) {
  return (
    <Command.Dialog
      open={isOpen}
      onOpenChange={(next) => {
        if (!next) close();
      }}
      label="Find or run anything"
      overlayClassName="veil"
      contentClassName="dialog palette"
    >
      <Command.Input placeholder="A page, a stack, a host, a node …" />
      <Command.List>
        <Command.Empty>Nothing has this name.</Command.Empty>
        {isOpen && <Objects close={close} />}
      </Command.List>
    </Command.Dialog>
  );
}

const mostShown = 200;

function Objects({ close }: { close: () => void }) {
  const navigate = useNavigate();
  const stacks = useAsk(['stacks'], (client) => client.stacks.list({ limit: 1000 }));
  const hosts = useAsk(['hosts'], (client) => client.hosts.list());
  const nodes = useAsk(['nodes'], (client) => client.nodes.list());
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
        <Command.Item value="new stack create" onSelect={go(() => navigate({ to: '/create' }))}>
          New stack
        </Command.Item>
        <Command.Item value="change the theme dark light" onSelect={go(() => Promise.resolve(toggleTheme()))}>
          Change the theme
        </Command.Item>
      </Command.Group>
      <Command.Group heading="Stacks">
        {(stacks.data ?? []).slice(0, mostShown).map(({ id, stack_name: name }) => (
          <Command.Item
            key={id}
            value={`stack ${name} ${id}`}
            onSelect={go(() => navigate({ to: '/stacks/$stack', params: { stack: name } }))}
          >
            {name}
          </Command.Item>
        ))}
      </Command.Group>
      <Command.Group heading="Hosts">
        {(hosts.data ?? []).slice(0, mostShown).map(({ id, name }) => (
          <Command.Item
            key={id}
            value={`host ${name} ${id}`}
            onSelect={go(() => navigate({ to: '/hosts/$host', params: { host: name } }))}
          >
            {name}
          </Command.Item>
        ))}
      </Command.Group>
      <Command.Group heading="Nodes">
        {(nodes.data ?? []).slice(0, mostShown).map(({ uuid, name }) => (
          <Command.Item
            key={uuid}
            value={`node ${name ?? ''} ${uuid}`}
            onSelect={go(() => navigate({ to: '/nodes/$node', params: { node: name ?? uuid } }))}
          >
            {name ?? uuid}
          </Command.Item>
        ))}
      </Command.Group>
    </>
  );
}
