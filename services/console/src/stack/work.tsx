/** What the resources of a stack do: their graph and timeline or, of a stack with very many, how many are in which state. */
import type { ResourcePage } from '@anneal/client/page.ts';
import { toneOf, type Tone } from '@anneal/client/text/tone.ts';
import { Link } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import { useAsk } from '../live/ask.ts';
import { Answer } from '../parts/answer.tsx';
import { Empty } from '../parts/command.tsx';
import { Mark, wordsOf } from '../parts/state.tsx';
import { Graph } from './graph.tsx';
import { Timeline } from './timeline.tsx';

/** The most resources that are drawn without a question. More cost the browser seconds for a picture that is too large to read. */
const mostDrawn = 1000;

export function WorkOf({ stack }: { stack: string }) {
  // Of a stack that is too large to draw, each change needs only the counts.
  const isLarge = useRef(false);
  const first = useAsk(['stack', stack, 'work'], async ({ stacks }) => {
    const page = await stacks.resourcePage({ stack, limit: isLarge.current ? 1 : mostDrawn });
    const wasLarge = isLarge.current;
    isLarge.current = page.total > mostDrawn;
    return wasLarge && !isLarge.current ? stacks.resourcePage({ stack, limit: mostDrawn }) : page;
  });
  const [isWhole, setWhole] = useState(false);
  return (
    <Answer of={first}>
      {(page) =>
        page.total === 0 ? (
          <section className="card">
            <Empty>This stack has no resources.</Empty>
          </section>
        ) : (
          <>
            {page.total > mostDrawn && <States stack={stack} page={page} />}
            {page.total <= mostDrawn ? (
              <Drawn resources={page.rows} />
            ) : isWhole ? (
              <Whole stack={stack} total={page.total} />
            ) : (
              <p>
                <button type="button" className="button" onClick={() => setWhole(true)}>
                  Draw all {page.total.toLocaleString()} resources
                </button>
              </p>
            )}
          </>
        )
      }
    </Answer>
  );
}

function Drawn({ resources }: { resources: ResourcePage['rows'] }) {
  return (
    <>
      <Graph resources={resources} />
      <Timeline resources={resources} />
    </>
  );
}

/** Reads every page once. A large graph is drawn as it was at that moment. */
function Whole({ stack, total }: { stack: string; total: number }) {
  const all = useAsk(['whole stack', stack], async (client) => {
    const rows: ResourcePage['rows'] = [];
    while (rows.length < total) {
      const page = await client.stacks.resourcePage({ stack, offset: rows.length, limit: mostDrawn });
      rows.push(...page.rows);
      if (page.rows.length < mostDrawn) break;
    }
    return rows;
  });
  return <Answer of={all}>{(rows) => <Drawn resources={rows} />}</Answer>;
}

const order: readonly Tone[] = ['failed', 'wait', 'busy', 'idle', 'done'];

/** How far a large stack is: a bar of its states, each with the list of its resources. */
function States({ stack, page: { states, total } }: { stack: string; page: ResourcePage }) {
  const sorted = Object.entries(states).toSorted(
    ([a], [b]) => order.indexOf(toneOf(a)) - order.indexOf(toneOf(b)) || a.localeCompare(b),
  );
  return (
    <section className="card" aria-label="Resources by state">
      <header>
        <h2>Resources</h2>
        <span className="more">{total.toLocaleString()}, nested stacks included</span>
      </header>
      <div className="body stackwise">
        <div className="bar" aria-hidden="true">
          {sorted.map(([state, count]) => (
            <i key={state} className={`tone-${toneOf(state)}`} style={{ flex: count }} />
          ))}
        </div>
        <ul className="row wrap legend">
          {sorted.map(([state, count]) => (
            <li key={state}>
              <Link className="row" to="/stacks/$stack" params={{ stack }} search={{ tab: 'resources', find: state }}>
                <Mark tone={toneOf(state)} /> <b>{count.toLocaleString()}</b>{' '}
                <span className="dim">{wordsOf(state)}</span>
              </Link>
            </li>
          ))}
        </ul>
      </div>
    </section>
  );
}
