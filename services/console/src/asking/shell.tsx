/** The frame of every page: where one is, what needs a look, the palette, and whether the page is live. */
import { formatClock } from '@anneal/client/text/time.ts';
import { Link, Outlet, useRouterState } from '@tanstack/react-router';
import { Dialog } from 'radix-ui';
import { useEffect, useRef, useState, type ReactNode, type RefObject } from 'react';
import { LiveProvider, useLive } from '../live/live.tsx';
import { NewVersion } from '../live/new-version.tsx';
import { useAsk } from '../live/ask.ts';
import { useSession } from '../session/session.tsx';
import icon from '../icon.svg';
import { needCount, needCountOf } from '../parts/needs.ts';
import { Palette, usePalette } from './palette.tsx';
import { Mark } from '../parts/state.tsx';
import { toggleTheme } from '../parts/theme.ts';

const places = [
  { to: '/', name: 'Home', icon: 'M2.5 7.5 8 3l5.5 4.5V13h-4V9.5h-3V13h-4z' },
  { to: '/stacks', name: 'Stacks', icon: 'M2 5.5 8 2.5l6 3-6 3zM2 8l6 3 6-3M2 10.5l6 3 6-3' },
  { to: '/queues', name: 'Queues', icon: 'M2.5 9 4.5 3h7l2 6v4h-11zM2.5 9h3l1 2h3l1-2h3' },
  { to: '/hosts', name: 'Hosts', icon: 'M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.1M5 11h.1' },
  {
    to: '/nodes',
    name: 'Nodes',
    icon: 'M4 4h8v8H4zM6.5 1.5V4M9.5 1.5V4M6.5 12v2.5M9.5 12v2.5M1.5 6.5H4M1.5 9.5H4M12 6.5h2.5M12 9.5h2.5',
  },
] as const;
const scaling = {
  to: '/scaling',
  name: 'Scaling',
  icon: 'M2.5 13.5v-3h3v3zM6.5 13.5v-6h3v6zM10.5 13.5v-11h3v11z',
} as const;
const images = {
  to: '/images',
  name: 'Images',
  icon: 'M2.5 8a5.5 5.5 0 1 0 11 0 5.5 5.5 0 1 0-11 0M6.8 8a1.2 1.2 0 1 0 2.4 0 1.2 1.2 0 1 0-2.4 0',
} as const;
const observing = [
  { to: '/events', name: 'Events', icon: 'M1.5 8h3l2-5 3 10 2-5h3' },
  {
    to: '/subscriptions',
    name: 'Subscriptions',
    icon: 'M8 2.5a4 4 0 0 1 4 4v3l1.5 2h-11L4 9.5v-3a4 4 0 0 1 4-4zM6.5 13.5h3',
  },
  { to: '/workflows', name: 'Workflows', icon: 'M2 3h5v4H2zM9 9h5v4H9zM4.5 7v4H9' },
  { to: '/dead-letters', name: 'Dead letters', icon: 'M2 4h12v8.5H2zM2 4l6 5 6-5' },
  {
    to: '/services',
    name: 'Services',
    icon: 'M8 5.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5zM8 1.5v2M8 12.5v2M1.5 8h2M12.5 8h2',
  },
] as const;

const forOperators = [
  { to: '/projects', name: 'Projects', icon: 'M2 4h4.5L8 5.5h6V13H2z' },
  {
    to: '/users',
    name: 'Users',
    icon: 'M8 2.5a2.7 2.7 0 1 0 0 5.4 2.7 2.7 0 0 0 0-5.4zM2.5 13.5c.5-3 2.5-4 5.5-4s5 1 5.5 4',
  },
] as const;
const own = { to: '/tokens', name: 'Tokens', icon: 'M5 6.5a3 3 0 1 0 0 3h4v2h2v-2h3v-3z' } as const;

type Place =
  | (typeof places)[number]
  | typeof scaling
  | typeof images
  | (typeof observing)[number]
  | (typeof forOperators)[number]
  | typeof own;

export function Shell() {
  return (
    <LiveProvider>
      <Frame />
    </LiveProvider>
  );
}

/** A text that is cut shows itself as a whole under the pointer. */
function useWholeTexts(): void {
  useEffect(() => {
    const show = ({ target }: MouseEvent): void => {
      const cut = target instanceof Element ? target.closest<HTMLElement>('.cut, .about, .what, .table td') : null;
      if (!cut) return;
      const isCut = cut.scrollWidth > cut.clientWidth || cut.scrollHeight > cut.clientHeight + 1;
      if (isCut) cut.title = cut.innerText;
      else if (cut.title === cut.innerText) cut.removeAttribute('title');
    };
    document.addEventListener('mouseover', show);
    return () => document.removeEventListener('mouseover', show);
  }, []);
}

/** How much needs a person, and at which place. */
function useCounts(): { readonly total: number; readonly counts: Readonly<Record<string, number>> } {
  const { data } = useAsk(['overview'], (client) => client.overview(), 15_000);
  if (!data) return { total: 0, counts: {} };
  const counts = {
    Stacks: needCountOf(data, 'stack'),
    Hosts: needCountOf(data, 'host'),
    Nodes: needCountOf(data, 'node'),
    'Dead letters': data.dead_letters ?? needCountOf(data, 'dead letters'),
    Subscriptions: needCountOf(data, 'subscription'),
    Services: needCountOf(data, 'service'),
  };
  return { total: needCount(data), counts };
}

/** The part of the frame with the page. It gets the focus with each new page, so that Tab continues there. */
function usePageFocus(path: string): RefObject<HTMLElement | null> {
  const page = useRef<HTMLElement>(null);
  const shown = useRef(path);
  useEffect(() => {
    if (shown.current === path) return;
    shown.current = path;
    page.current?.focus({ preventScroll: true });
  }, [path]);
  return page;
}

function Frame() {
  useWholeTexts();
  const { session, logOut } = useSession();
  const palette = usePalette();
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const page = usePageFocus(path);
  const { total, counts } = useCounts();
  document.title = `${total > 0 ? `(${total}) ` : ''}${titleOf(path)}Anneal`;
  const item = (place: Place, isExtra = false) => (
    <Link
      key={place.to}
      to={place.to}
      className={isExtra ? 'place extra' : 'place'}
      activeOptions={{ exact: place.to === '/' }}
    >
      <svg className="icon" viewBox="0 0 16 16" aria-hidden="true">
        <path d={place.icon} />
      </svg>
      {place.name}
      {(counts[place.name] ?? 0) > 0 && (
        <span className="count pill tone-wait">
          {(counts[place.name] ?? 0) > 999 ? '999+' : counts[place.name]}
          <span className="hidden-label"> need you</span>
        </span>
      )}
    </Link>
  );
  const more = [scaling, images, ...observing, ...(session.operator ? forOperators : []), own];
  const account = (
    <button className="button" type="button" onClick={() => void logOut()}>
      Log out {session.user.name}
    </button>
  );
  return (
    <div className="shell">
      <a className="skip" href="#page" onClick={(event) => (event.preventDefault(), page.current?.focus())}>
        Skip to the page
      </a>
      <nav className="side" aria-label="Main">
        <div className="brand">
          <img src={icon} alt="" /> Anneal
        </div>
        {places.map((place) => item(place))}
        {item(scaling, true)}
        {item(images, true)}
        <div className="section">Observe</div>
        {observing.map((place) => item(place, true))}
        <div className="section">Access</div>
        {session.operator && forOperators.map((place) => item(place, true))}
        {item(own, true)}
        <More count={more.reduce((all, { name }) => all + (counts[name] ?? 0), 0)}>
          {more.map((place) => item(place))}
          <span className="row wrap">
            <button className="button" type="button" onClick={toggleTheme}>
              Change the theme
            </button>
            {account}
          </span>
        </More>
        <div className="foot">
          project <b>{session.project.name}</b>
          <br />
          {account}
        </div>
      </nav>
      <div>
        <TopBar path={path} onFind={palette.open} />
        <NewVersion />
        <main className="page" id="page" ref={page} tabIndex={-1}>
          <Outlet />
        </main>
      </div>
      <Palette {...palette} />
    </div>
  );
}

function TopBar({ path, onFind }: { path: string; onFind: () => void }) {
  return (
    <header className="top">
      <span className="trail cut">
        {titleOf(path).replace(' · ', '') || 'Home'}
        <NameIn path={path} />
      </span>
      <button className="find" type="button" onClick={onFind}>
        <svg className="icon" viewBox="0 0 16 16" aria-hidden="true">
          <path d="M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.5 10.5l3 3" />
        </svg>
        <span>Find or run anything</span>
        <kbd>Ctrl K</kbd>
      </button>
      <button className="button wide-only" type="button" onClick={toggleTheme} aria-label="Change the theme">
        ◐
      </button>
      <LiveBadge />
    </header>
  );
}

/** The places that the bar of a small screen has no room for. */
function More({ count, children }: { count: number; children: ReactNode }) {
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const [isOpen, setOpen] = useState(false);
  useEffect(() => setOpen(false), [path]);
  return (
    <Dialog.Root open={isOpen} onOpenChange={setOpen}>
      <Dialog.Trigger className="place more-places">
        <svg className="icon" viewBox="0 0 16 16" aria-hidden="true">
          <path d="M2.5 4.5h11M2.5 8h11M2.5 11.5h11" />
        </svg>
        More
        {count > 0 && (
          <span className="count pill tone-wait">
            {count > 999 ? '999+' : count}
            <span className="hidden-label"> need you</span>
          </span>
        )}
      </Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Overlay className="veil" />
        <Dialog.Content className="dialog sheet" aria-describedby={undefined}>
          <Dialog.Title className="hidden-label">More pages</Dialog.Title>
          {children}
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function LiveBadge() {
  const { isOpen, brokenAt } = useLive();
  if (!isOpen && brokenAt !== undefined) {
    return (
      <div className="live pill tone-wait" role="status" title="The page shows what was known then.">
        <Mark tone="wait" /> Reconnecting, last news {formatClock(brokenAt)}
      </div>
    );
  }
  return (
    <div className="live" role="status" data-state={isOpen ? 'open' : 'away'}>
      <i />
      <span>{isOpen ? 'Live' : 'Connecting …'}</span>
    </div>
  );
}

/** Projects and users have ids in their addresses, which say nothing to a reader. */
const isId = (text: string): boolean => /^[0-9a-f-]{32,}$/.test(text);

/** The name of the project or user whose id is in the address. */
function NameIn({ path }: { path: string }) {
  const [, list, id = ''] = path.split('/');
  if (!isId(id) || (list !== 'projects' && list !== 'users')) return null;
  return <NameOf list={list} id={id} />;
}

function NameOf({ list, id }: { list: 'projects' | 'users'; id: string }) {
  const shown = useAsk<{ name: string }>(['identity', list.slice(0, -1), id], ({ identity }) =>
    identity[list].show(id),
  );
  return shown.data ? <> / {shown.data.name}</> : null;
}

/** `/stacks/web` as `web · Stacks · `. */
function titleOf(path: string): string {
  const [, first = '', second] = path.split('/');
  if (first === '') return '';
  const page = `${first.slice(0, 1).toUpperCase()}${first.slice(1).replaceAll('-', ' ')}`;
  return second === undefined || isId(second) ? `${page} · ` : `${page} / ${decodeURIComponent(second)} · `;
}
