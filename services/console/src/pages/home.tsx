/** Home: what needs a person, what works, and whether it flows. */
import { toneOf, type Tone } from '@anneal/client/text/tone.ts';
import type { HostView } from '@anneal/contracts/calls/hosts.ts';
import type { Need, Overview } from '@anneal/contracts/calls/overview.ts';
import { Link } from '@tanstack/react-router';
import { useAsk } from '../live/ask.ts';
import { useLive } from '../live/live.tsx';
import { Answer } from '../parts/answer.tsx';
import { Empty } from '../parts/command.tsx';
import { Go } from '../parts/go.tsx';
import { EventStart } from '../parts/event-start.tsx';
import { foldEvents } from '../parts/fold-events.ts';
import { needCount, toneOfWhy } from '../parts/needs.ts';
import { Mark, StatePill } from '../parts/state.tsx';
import { Sentence } from '../parts/sentence.tsx';
import { Age, useNow } from '../parts/time.tsx';
import { Exits } from '../asking/why.tsx';

export function HomePage() {
  const overview = useAsk(['overview'], (client) => client.overview(), 15_000);
  return (
    <Answer of={overview}>
      {(shown) => (
        <div className="stackwise">
          <h1 aria-live="polite">{titleOf(shown)}</h1>
          {shown.needs.length > 0 && <Needs overview={shown} />}
          <Tiles overview={shown} />
          <div className="two">
            <Working overview={shown} />
            <HostCells />
          </div>
          <Latest />
        </div>
      )}
    </Answer>
  );
}

const sum = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((all, one) => all + one, 0);
/** The counts that are not zero, in words, and the rest of them under one word. */
function partsOf(
  counts: Readonly<Record<string, number>>,
  words: Readonly<Record<string, string>>,
  rest?: string,
): string {
  const named = Object.entries(words).map(([state, word]) => [counts[state] ?? 0, word] as const);
  const other = sum(counts) - named.reduce((all, [count]) => all + count, 0);
  return [...named, ...(rest === undefined ? [] : [[other, rest] as const])]
    .filter(([count]) => count > 0)
    .map(([count, word]) => `${count.toLocaleString()} ${word}`)
    .join(', ');
}
const plural = (count: number, noun: string): string => `${count.toLocaleString()} ${noun}${count === 1 ? '' : 's'}`;

function titleOf(overview: Overview): string {
  const { stacks } = overview;
  const count = needCount(overview);
  if (count > 0) return `${plural(count, 'thing')} ${count === 1 ? 'needs' : 'need'} you`;
  return sum(stacks) === 0 ? 'No stack yet' : 'Everything is in order';
}

/** Also those that the answer does not list. */
const workingCount = ({ working, working_count: count = working.length }: Overview): number => count;

const toneOfNeed = (need: Need): Tone =>
  need.kind === 'host' || toneOfWhy(need, 'busy') === 'wait' ? 'wait' : 'failed';

function NeedLink({ need }: { need: Need }) {
  if (need.kind === 'stack')
    return (
      <Link to="/stacks/$stack" params={{ stack: need.name }}>
        {need.name}
      </Link>
    );
  if (need.kind === 'node')
    return (
      <Link to="/nodes/$node" params={{ node: need.name }}>
        {need.name}
      </Link>
    );
  if (need.kind === 'host')
    return (
      <Link to="/hosts/$host" params={{ host: need.name }}>
        {need.name}
      </Link>
    );
  if (need.kind === 'subscription')
    return (
      <Link to="/subscriptions" search={{ sel: need.id }}>
        {need.name}
      </Link>
    );
  if (need.kind === 'service') return <Link to="/services">{need.name}</Link>;
  return <Link to="/dead-letters">Dead letters</Link>;
}

/** Where the rest of a kind is listed. */
const lists = {
  stack: { href: '/stacks?find=failed', noun: 'stack' },
  node: { href: '/nodes?find=fault', noun: 'node' },
  host: { href: '/hosts?find=silent', noun: 'host' },
  'dead letters': { href: '/dead-letters', noun: 'cause of dead letters' },
  subscription: { href: '/subscriptions', noun: 'subscription' },
  service: { href: '/services', noun: 'service' },
} as const;

function Needs({ overview: { needs, need_counts: counts = {} } }: { overview: Overview }) {
  const others = Object.entries(lists).flatMap(([kind, { href, noun }]) => {
    const hidden = (counts[kind] ?? 0) - needs.filter((need) => need.kind === kind).length;
    return hidden > 0 ? [{ href, text: `${hidden.toLocaleString()} more ${hidden === 1 ? noun : `${noun}s`}` }] : [];
  });
  return (
    <section className="card" aria-label="Needs you">
      <ul className="needs">
        {needs.map((need) => (
          <li key={`${need.kind} ${need.id}`}>
            <Mark tone={toneOfNeed(need)} label={toneOfNeed(need) === 'failed' ? 'failed' : 'waits'} />
            <b className="cut">
              <NeedLink need={need} />
            </b>
            <span className="what">
              <Sentence text={need.summary} />
            </span>
            <span className="dim">
              <Age since={need.since} />
            </span>
            <span className="act">
              <Exits exits={need.exits} most={1} />
            </span>
          </li>
        ))}
      </ul>
      {others.length > 0 && (
        <p className="body row wrap">
          {others.map(({ href, text }) => (
            <Go key={href} href={href}>
              {text}
            </Go>
          ))}
        </p>
      )}
    </section>
  );
}

function Tiles({ overview }: { overview: Overview }) {
  const { stacks, hosts, nodes, working } = overview;
  const busy = workingCount(overview);
  const silent = hosts['silent'] ?? 0;
  const failed = Object.entries(stacks).reduce(
    (all, [state, count]) => all + (state.endsWith('FAILED') ? count : 0),
    0,
  );
  const tile = (
    { to, name, find }: { to: '/stacks' | '/hosts' | '/nodes'; name: string; find?: string | false },
    [value, detail]: [number, string],
  ) => (
    <Link to={to} search={find ? { find } : {}} className="card tile">
      <span className="dim">{name}</span>
      <br />
      <b>{value.toLocaleString()}</b>
      <br />
      <span className="dim">{detail}</span>
    </Link>
  );
  return (
    <div className="tiles">
      {tile({ to: '/stacks', name: 'Stacks', find: failed > 0 && 'failed' }, [
        sum(stacks),
        failed > 0 ? `${failed.toLocaleString()} failed` : 'none failed',
      ])}
      {tile({ to: '/stacks', name: 'In progress', find: busy > 0 && 'in_progress' }, [
        busy,
        working[0] ? `longest: ${working[0].name}` : 'nothing runs',
      ])}
      {tile({ to: '/hosts', name: 'Hosts', find: silent > 0 && 'silent' }, [
        sum(hosts),
        partsOf(hosts, { up: 'up', silent: 'silent', expected: 'not connected yet', deleting: 'leaving' }) ||
          'none yet',
      ])}
      {tile({ to: '/nodes', name: 'Nodes' }, [
        sum(nodes),
        partsOf(nodes, { active: 'active', available: 'available' }, 'other') || 'none yet',
      ])}
      <Flow />
    </div>
  );
}

const minuteMs = 60_000;

/** How much happens: the events of the last minute, and the requests that wait for a service. */
function Flow() {
  const { events } = useLive();
  const now = useNow();
  const services = useAsk(['services'], (client) => client.services(), 10_000);
  const recent = events.filter(({ time }) => Date.parse(time) > now - minuteMs).length;
  const waiting = (services.data ?? []).reduce((all, { depth }) => all + (typeof depth === 'number' ? depth : 0), 0);
  return (
    <Link to="/queues" className="card tile">
      <span className="dim">Events per minute</span>
      <br />
      <b>
        {recent === events.length && recent >= 500 && 'over '}
        {recent.toLocaleString()}
      </b>
      <br />
      <span className="dim">
        {waiting === 0
          ? 'no request waits for a service'
          : `${plural(waiting, 'request')} ${waiting === 1 ? 'waits' : 'wait'} for a service`}
      </span>
    </Link>
  );
}

function Working({ overview }: { overview: Overview }) {
  const { working } = overview;
  const hidden = workingCount(overview) - working.length;
  return (
    <section className="card">
      <header>
        <h2>In progress</h2>
        {working.length > 0 && <span className="more">{plural(workingCount(overview), 'stack')}</span>}
      </header>
      {working.length === 0 ? (
        <Empty command="anneal stack create web -t web.yaml">
          No stack is in progress. <Link to="/create">Write one here</Link>, or start one:
        </Empty>
      ) : (
        <ul className="needs">
          {working.map(({ id, name, action, status, since, why }) => (
            <li key={id}>
              <Mark tone="busy" label="in progress" />
              <b className="cut">
                <Link to="/stacks/$stack" params={{ stack: name }}>
                  {name}
                </Link>
              </b>
              <span className="what">
                <Sentence text={why.summary} />
              </span>
              <span className="dim">
                <Age since={since} />
              </span>
              <span className="act wide-only">
                <StatePill state={`${action}_${status}`} />
              </span>
            </li>
          ))}
          {hidden > 0 && (
            <li className="rest">
              <Go href="/stacks?find=in_progress">{hidden.toLocaleString()} more</Go>
            </li>
          )}
        </ul>
      )}
    </section>
  );
}

const mostCells = 300;

type Cell = Pick<HostView, 'status' | 'pending'>;
const cellWords = { up: 'free', silent: 'silent', expected: 'not connected yet', deleting: 'leaving' } as const;
const wordOfCell = ({ status, pending }: Cell): string =>
  status === 'up' && pending > 0 ? 'at work' : cellWords[status];

/** What the colours of the cells mean, with how many of each there are. */
function legendOf(cells: readonly Cell[]): string {
  const counts: Record<string, number> = {};
  for (const cell of cells) counts[wordOfCell(cell)] = (counts[wordOfCell(cell)] ?? 0) + 1;
  return partsOf(counts, Object.fromEntries(['at work', ...Object.values(cellWords)].map((word) => [word, word])));
}

function HostCells() {
  const hosts = useAsk(['hosts', 'cells'], (client) => client.hosts.page({ limit: mostCells }));
  return (
    <section className="card">
      <header>
        <h2>Hosts</h2>
        <span className="more">{hosts.data && legendOf(hosts.data.rows)}</span>
      </header>
      <Answer of={hosts}>
        {({ rows, total }) =>
          rows.length === 0 ? (
            <Empty command="anneal host join web1">
              No host yet. A stack brings its own; a machine of yours joins with:
            </Empty>
          ) : (
            <div className="body cells">
              {rows.map(({ id, name, status, pending }) => {
                const label = `${name}: ${wordOfCell({ status, pending })}`;
                return (
                  <Link
                    key={id}
                    to="/hosts/$host"
                    params={{ host: name }}
                    className={`tone-${status === 'up' && pending > 0 ? 'busy' : toneOf(status)}`}
                    title={label}
                    aria-label={label}
                  />
                );
              })}
              {total > mostCells && <Link to="/hosts">and {(total - mostCells).toLocaleString()} more</Link>}
            </div>
          )
        }
      </Answer>
    </section>
  );
}

function Latest() {
  const { events } = useLive();
  return (
    <section className="card">
      <header>
        <h2>Events</h2>
        <span className="more">
          <Link to="/events">Follow all</Link>
        </span>
      </header>
      {events.length === 0 ? (
        <Empty>No event yet.</Empty>
      ) : (
        <ul className="log body">
          {foldEvents(events, 10).map(({ event, about, detail, count }) => (
            <li key={event.id}>
              <EventStart event={event} count={count} />
              <span className="cut dim detail">
                {about} <span className="wide-only">{detail}</span>
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
