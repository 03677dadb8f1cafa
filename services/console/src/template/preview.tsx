/** The graph of a template that is being written. */
import type { TemplateCheck } from '@anneal/contracts/calls/templating.ts';
import { useMemo, useState } from 'react';
import { GraphCanvas } from '../graph/canvas.tsx';

export function GraphPreview({ outline }: { outline: NonNullable<TemplateCheck['outline']> }) {
  const [chosen, choose] = useState<string>();
  const { items, shown } = useMemo(() => {
    const followers = Map.groupBy(outline.edges, ({ from }) => from);
    const all = outline.levels.flat();
    return {
      items: all.map(({ name }) => ({ id: name, followers: (followers.get(name) ?? []).map(({ to }) => to) })),
      shown: new Map(all.map(({ name, type }) => [name, { title: name, second: type, tone: 'idle' as const }])),
    };
  }, [outline]);
  const critical = useMemo(() => new Set(outline.critical_path), [outline]);
  return (
    <section className="card" aria-label="Graph of the template">
      <header>
        <h2>Graph</h2>
        <span className="more">
          {outline.resources} resources in {outline.levels.length} steps
        </span>
      </header>
      <GraphCanvas
        label={`${outline.resources} resources and what each waits for`}
        items={items}
        shown={shown}
        critical={critical}
        chosen={chosen}
        onChoose={choose}
      />
    </section>
  );
}
