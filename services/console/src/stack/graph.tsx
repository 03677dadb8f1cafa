/** The live graph of a stack: what waits for what, coloured by state. Nested stacks unfold in place. */
import { nestedIdOf } from '@anneal/client/nested.ts';
import { toneOf } from '@anneal/client/text/tone.ts';
import { useMemo, useState } from 'react';
import type { Item } from '../graph/arrange.ts';
import { GraphCanvas } from '../graph/canvas.tsx';
import { criticalPath } from '../graph/critical-path.ts';
import type { Shown } from '../graph/draw.ts';
import { wordsOf } from '../parts/state.tsx';
import { useNow } from '../parts/time.tsx';
import { stateOf, type PlacedResource } from './resources.tsx';

/** The path of the stack that contains a resource; empty for the outermost. */
const aroundOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')));

/** The time that a resource has taken; undefined when it has not started. */
function timeTaken({ started_at: started, finished_at: finished }: PlacedResource, now: number): number | undefined {
  if (started === null) return undefined;
  const start = Date.parse(started);
  const end = finished === null ? Number.NaN : Date.parse(finished);
  return Math.max(0, (end >= start ? end : now) - start);
}

/** Ids of those that wait for a resource: paths beside it. */
const followersOf = ({ path, required_by: by }: PlacedResource): string[] => {
  const around = aroundOf(path);
  return by.map((name) => (around === '' ? name : `${around}/${name}`));
};

function itemsOf(byParent: ReadonlyMap<string, readonly PlacedResource[]>, open: ReadonlySet<string>, at = ''): Item[] {
  return (byParent.get(at) ?? []).map((resource) => ({
    id: resource.path,
    followers: followersOf(resource),
    ...(open.has(resource.path) && byParent.has(resource.path) && { inside: itemsOf(byParent, open, resource.path) }),
  }));
}

/** What is inside a folded box, in words: `12 inside, 1 failed`. */
function insideWords(inside: readonly PlacedResource[]): string {
  const counts = Map.groupBy(inside, ({ resource_status: status }) => toneOf(status));
  const failed = counts.get('failed')?.length ?? 0;
  const busy = counts.get('busy')?.length ?? 0;
  return [
    `${inside.length} inside`,
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(busy > 0 ? [`${busy} busy`] : []),
  ].join(', ');
}

/** The critical path of the outermost stack. The path of finished work does not change with the clock. */
function useCritical(byParent: ReadonlyMap<string, readonly PlacedResource[]>): readonly string[] {
  const now = useNow();
  const own = byParent.get('');
  const isWorking = own?.some(({ resource_status: status }) => status.endsWith('IN_PROGRESS')) ?? false;
  const clock = isWorking ? Math.floor(now / 5000) : 0;
  return useMemo(() => {
    const work = (own ?? []).map((each) => ({
      id: each.path,
      followers: followersOf(each),
      ms: timeTaken(each, clock * 5000),
      kind: each.resource_type,
    }));
    return criticalPath(work);
  }, [own, clock]);
}

export function Graph({ resources }: { resources: readonly PlacedResource[] }) {
  const [chosen, choose] = useState<string>();
  const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(new Set());
  const [isMarked, mark] = useState(true);
  const byParent = useMemo(() => Map.groupBy(resources, ({ path }) => aroundOf(path)), [resources]);
  const items = useMemo(() => itemsOf(byParent, unfolded), [byParent, unfolded]);
  const shown = useMemo(
    () => new Map(resources.map((each) => [each.path, shownOf(each, byParent, unfolded)])),
    [resources, byParent, unfolded],
  );
  const critical = useCritical(byParent);
  const marked = useMemo(() => new Set(isMarked ? critical : []), [isMarked, critical]);
  const groups = resources.filter(({ path }) => byParent.has(path));
  const toggle = (path: string): void => {
    if (!byParent.has(path)) return;
    setUnfolded((last) => {
      const next = new Set(last);
      if (!next.delete(path)) next.add(path);
      return next;
    });
  };
  return (
    <section className="card" aria-label="Graph">
      <header>
        <h2>Graph</h2>
        <span className="dim wide-only">
          {resources.length.toLocaleString()} {resources.length === 1 ? 'resource' : 'resources'} · drag to move, scroll
          to zoom, <kbd>0</kbd> to fit
        </span>
        <span className="more row">
          <button type="button" className="button" aria-pressed={isMarked} onClick={() => mark(!isMarked)}>
            Critical path
          </button>
          {groups.length > 0 && (
            <button
              type="button"
              className="button"
              onClick={() => setUnfolded(unfolded.size > 0 ? new Set() : new Set(groups.map(({ path }) => path)))}
            >
              {unfolded.size > 0 ? 'Fold all' : 'Unfold all'}
            </button>
          )}
        </span>
      </header>
      <GraphCanvas
        label={`${resources.length} resources and what each waits for; the tab Resources lists them`}
        items={items}
        shown={shown}
        critical={marked}
        chosen={chosen}
        onChoose={choose}
        onOpen={toggle}
      />
      <Chosen
        resource={resources.find(({ path }) => path === chosen)}
        beside={byParent.get(aroundOf(chosen ?? '')) ?? []}
        inside={byParent.get(chosen ?? '') ?? []}
        isOpen={unfolded.has(chosen ?? '')}
        onToggle={toggle}
        onChoose={choose}
      />
      {chosen === undefined && isMarked && critical.length > 1 && (
        <p className="body dim">
          Critical path: {critical.slice(0, 12).join(' → ')}
          {critical.length > 12 && ` → … ${critical.length - 12} more`}
        </p>
      )}
    </section>
  );
}

function shownOf(
  resource: PlacedResource,
  byParent: ReadonlyMap<string, readonly PlacedResource[]>,
  open: ReadonlySet<string>,
): Shown {
  const inside = byParent.get(resource.path);
  return {
    title: resource.resource_name,
    second: inside ? insideWords(inside) : wordsOf(stateOf(resource).state),
    tone: stateOf(resource).tone,
    isFolded: inside !== undefined && !open.has(resource.path),
  };
}

function State({ of }: { of: PlacedResource }) {
  const { state, tone } = stateOf(of);
  return <span className={`tone-${tone}`}>{wordsOf(state)}</span>;
}

/** What the chosen resource waits for, and what waits for it. */
function Chosen(props: {
  resource: PlacedResource | undefined;
  beside: readonly PlacedResource[];
  inside: readonly PlacedResource[];
  isOpen: boolean;
  onToggle: (path: string) => void;
  onChoose: (path: string) => void;
}) {
  const { resource, beside, inside, onChoose } = props;
  if (!resource) return null;
  const requires = beside.filter(({ required_by: by }) => by.includes(resource.resource_name));
  const followers = beside.filter(({ resource_name: name }) => resource.required_by.includes(name));
  const list = (rows: readonly PlacedResource[]) =>
    rows.length === 0
      ? 'nothing'
      : rows.slice(0, 20).map((row) => (
          <button key={row.path} type="button" className="link" onClick={() => onChoose(row.path)}>
            {row.resource_name} <State of={row} />
          </button>
        ));
  return (
    <div className="body stackwise" aria-label="Chosen resource" role="group">
      <p className="row">
        <b>{resource.path}</b>
        <State of={resource} />
        {inside.length > 0 && (
          <button type="button" className="button" onClick={() => props.onToggle(resource.path)}>
            {props.isOpen ? 'Fold' : `Unfold ${nestedIdOf(resource) === undefined ? '' : inside.length}`}
          </button>
        )}
      </p>
      {resource.resource_status_reason && <p className="dim">{resource.resource_status_reason}</p>}
      <p className="row wrap">
        <span className="dim">Waits for</span> {list(requires)}
      </p>
      <p className="row wrap">
        <span className="dim">Needed by</span> {list(followers)}
      </p>
    </div>
  );
}
