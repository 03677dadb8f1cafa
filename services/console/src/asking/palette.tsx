/** The palette (Ctrl K): every page, action and object by its name. Also the keys that jump to a page. */
import { useIsFetching } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { rowMatcherOf } from '@anneal/contracts/page.ts';
import { Command } from 'cmdk';
import { useEffect, useState } from 'react';
import { isTyping } from '../parts/filter.tsx';
import { Actions, actionsOnPage, FoundObjects, PageActions } from './palette-items.tsx';
import { useQuiet } from '../parts/use-quiet.ts';

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

/** The writer of a search has stopped to type. */
const typingMs = 120;

/** Items must have every typed word; those with a word that begins with the text come first. */
function rankOf(value: string, search: string, keywords: readonly string[] = []): number {
  if (!rowMatcherOf(search)([value, ...keywords])) return 0;
  return ` ${value.toLowerCase()}`.includes(` ${search.trim().toLowerCase()}`) ? 1 : 0.5;
}

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
      filter={rankOf}
      overlayClassName="veil"
      contentClassName="dialog palette"
    >
      <Command.Input
        placeholder="A page, an action, or the name of any object …"
        value={typed}
        onValueChange={setTyped}
      />
      <Command.List>
        <Command.Empty>{isSearching ? 'Searching …' : 'No page, action or object has this name.'}</Command.Empty>
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
  // Those of the page under the palette, at the time when it was opened.
  const [onPage] = useState(actionsOnPage);
  const go = (act: () => unknown) => () => {
    close();
    void act();
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
      <PageActions onPage={onPage} go={go} />
      <FoundObjects find={useQuiet(typed.trim(), typingMs)} go={go} />
      <Actions go={go} />
    </>
  );
}
