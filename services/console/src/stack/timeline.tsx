/** What ran when in one action of the stack: one bar per resource, from its start to its end, in lanes by host. */
import { formatClock, formatDuration } from '@anneal/client/text/time.ts';
import { toneOf } from '@anneal/client/text/tone.ts';
import { useState } from 'react';
import { wordsOf } from '../parts/state.tsx';
import { useNow } from '../parts/time.tsx';
import type { PlacedResource } from './resources.tsx';
import { lanesOf, timelineActions, type Ran } from './lanes.ts';

const mostShown = 200;
/** The newest actions that can be chosen. */
const mostActions = 6;

export function Timeline({ resources }: { resources: readonly PlacedResource[] }) {
  const now = useNow();
  const [isByHost, setByHost] = useState(false);
  const [chosen, choose] = useState<number>();
  const all = resources.flatMap((resource): Ran[] => {
    if (resource.started_at === null) return [];
    const start = Date.parse(resource.started_at);
    const isOpen = resource.finished_at === null || Date.parse(resource.finished_at) < start;
    return [{ resource, start, end: isOpen ? now : Date.parse(resource.finished_at ?? '') }];
  });
  const actions = timelineActions(all);
  const action = actions.find(({ from }) => from === chosen) ?? actions.at(-1);
  if (!action) return null;
  const { from, to, ran } = action;
  const percent = (time: number): string => `${(100 * (time - from)) / (to - from)}%`;
  const rows = isByHost
    ? lanesOf(ran)
    : ran
        .toSorted((a, b) => a.start - b.start)
        .map((each) => ({
          name: each.resource.path,
          key: `${each.resource.path} ${each.resource.physical_resource_id ?? ''}`,
          bars: [each],
        }));
  return (
    <section className="card">
      <header>
        <h2>Timeline</h2>
        <span className="more row">
          {actions.length > 1 &&
            actions.slice(-mostActions).map((each) => (
              <button
                key={each.from}
                type="button"
                className="button"
                aria-pressed={each === action}
                title={`${each.ran.length} resources, ${formatDuration(each.to - each.from)}`}
                onClick={() => choose(each.from)}
              >
                {formatClock(new Date(each.from).toISOString())}
              </button>
            ))}
          {formatDuration(to - from)}
          {rows.length > mostShown && `, the first ${mostShown} of ${rows.length}`}
          <button type="button" className="button" aria-pressed={isByHost} onClick={() => setByHost(!isByHost)}>
            By host
          </button>
        </span>
      </header>
      <div className="timeline body" tabIndex={0} role="region" aria-label="Timeline">
        {rows.slice(0, mostShown).map(({ name, key, bars }) => (
          <div key={key}>
            <span className="cut" title={name}>
              {name}
            </span>
            <span className="track">
              {bars.map(({ resource, start, end }) => (
                <i
                  key={`${resource.path} ${resource.physical_resource_id ?? ''}`}
                  className={`tone-${toneOf(resource.resource_status)}`}
                  title={`${resource.path}: ${wordsOf(resource.resource_status)}, ${formatDuration(Math.max(0, end - start))}`}
                  style={{ left: percent(start), width: `calc(${percent(end)} - ${percent(start)})` }}
                />
              ))}
            </span>
            <span className="dim number">
              {formatDuration(
                Math.max(0, Math.max(...bars.map(({ end }) => end)) - Math.min(...bars.map(({ start }) => start))),
              )}
            </span>
          </div>
        ))}
      </div>
    </section>
  );
}
