/** The resources of a stack and of its nested stacks. */
import { toneOf } from '@anneal/client/text/tone.ts';
import type { Resource } from '@anneal/client/representation.ts';
import { useEffect, useRef } from 'react';
import { useAsk } from '../live/ask.ts';
import { useChosen } from '../parts/chosen.ts';
import { Answer } from '../parts/answer.tsx';
import { Empty } from '../parts/command.tsx';
import { Filter, useFilter } from '../parts/filter.tsx';
import { StatePill, StateWord } from '../parts/state.tsx';
import { matching, Table, type Column } from '../parts/table.tsx';
import { Age } from '../parts/time.tsx';
import { WhyCard } from '../parts/why.tsx';

export type PlacedResource = Resource & { readonly path: string };

export function Resources({ stack, resources }: { stack: string; resources: readonly PlacedResource[] }) {
  const find = useFilter();
  const [chosen, choose] = useChosen();
  const columns: readonly Column<PlacedResource>[] = [
    {
      name: 'Resource',
      cell: ({ path }) => (
        <button type="button" className="link" onClick={() => choose(path)}>
          {path}
        </button>
      ),
      sort: ({ path }) => path,
    },
    { name: 'State', cell: (row) => <StateWord state={row.resource_status} />, sort: (row) => row.resource_status },
    {
      name: 'Changed',
      cell: (row) => <Age since={row.updated_time ?? row.creation_time} />,
      sort: (row) => row.updated_time ?? '',
      isNumber: true,
    },
    { name: 'Type', cell: (row) => <code>{row.resource_type}</code>, sort: (row) => row.resource_type, isExtra: true },
    { name: 'Reason', cell: (row) => <span className="dim">{row.resource_status_reason}</span>, isExtra: true },
  ];
  const shown = resources.find(({ path }) => path === chosen);
  return (
    <div className="stackwise">
      <div className="row">
        <Filter what="resources by name, type or state" />
      </div>
      {shown && <Detail stack={stack} resource={shown} />}
      <section className="card">
        <Table
          label="Resources"
          rows={matching(resources, find, (row) => [row.path, row.resource_type, row.resource_status])}
          columns={columns}
          keyOf={({ path, physical_resource_id: id }) => `${path} ${id ?? ''}`}
          empty={<Empty>No resource matches the filter.</Empty>}
        />
      </section>
    </div>
  );
}

function Detail({ stack, resource }: { stack: string; resource: PlacedResource }) {
  const { path, failure } = resource;
  const full = useAsk(['stack', stack, 'resource', path], (client) =>
    client.stacks.resource({ stack, resource: path }),
  );
  const why = useAsk(['stack', stack, 'why', path], (client) => client.actions.why({ stack, resource: path }));
  const stderr = failure?.details?.['stderr'];
  const card = useRef<HTMLElement>(null);
  useEffect(() => {
    // It answers with a promise, which is no way to end an effect.
    card.current?.scrollIntoView({ block: 'nearest' });
  }, [path]);
  return (
    <section className="card" ref={card} aria-label={`Resource ${path}`}>
      <header>
        <h2>{path}</h2>
        <StatePill state={resource.resource_status} />
      </header>
      <div className="body stackwise">
        {why.data && <WhyCard why={why.data} tone={toneOf(resource.resource_status)} />}
        <dl className="facts">
          <dt>Type</dt>
          <dd className="mono">{resource.resource_type}</dd>
          <dt>Id</dt>
          <dd className="mono">{resource.physical_resource_id}</dd>
          <dt>Started</dt>
          <dd>
            <Age since={resource.started_at} />
          </dd>
        </dl>
        {failure && <pre className="output tone-failed">{failure.message}</pre>}
        {typeof stderr === 'string' && <pre className="output">{stderr}</pre>}
        <Answer of={full}>
          {({ attributes }) =>
            attributes && Object.keys(attributes).length > 0 ? (
              <pre className="output" tabIndex={0}>
                {JSON.stringify(attributes, null, 2)}
              </pre>
            ) : null
          }
        </Answer>
      </div>
    </section>
  );
}
