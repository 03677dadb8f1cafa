/** The resources of a stack and of its nested stacks. */
import { toneOf, type Tone } from '@anneal/client/text/tone.ts';
import type { Resource } from '@anneal/client/representation.ts';
import { useEffect, useRef } from 'react';
import { reasonText } from '@anneal/client/text/reason.ts';
import { useAsk } from '../live/ask.ts';
import { useChosen } from '../parts/chosen.ts';
import { Answer } from '../parts/answer.tsx';
import { CloseDetail } from '../parts/close-detail.tsx';
import { Empty } from '../parts/command.tsx';
import { Filter } from '../parts/filter.tsx';
import { StatePill, StateWord } from '../parts/state.tsx';
import { PagedTable, type PagedColumn } from '../asking/paged-table.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { Act } from '../parts/act.tsx';
import { toneOfWhy } from '../parts/needs.ts';
import { useNotify } from '../parts/notices.tsx';
import { quoted } from '../parts/quoted.ts';
import { Same } from '../parts/same.tsx';
import { Sentence } from '../parts/sentence.tsx';
import { useSession } from '../session/session.tsx';
import type { ResourceAct } from '@anneal/contracts/calls/resources.ts';
import { Age } from '../parts/time.tsx';
import { WhyCard } from '../asking/why.tsx';

export type PlacedResource = Resource & { readonly path: string };

/** The state of a resource; a hook that holds it comes first. */
export function stateOf({ resource_status: status, hook }: Resource): { readonly state: string; readonly tone: Tone } {
  return hook === undefined ? { state: status, tone: toneOf(status) } : { state: `held at ${hook.name}`, tone: 'wait' };
}

export function Resources({ stack }: { stack: string }) {
  const [chosen, choose] = useChosen();
  const columns: readonly PagedColumn<PlacedResource>[] = [
    {
      name: 'Resource',
      cell: ({ path }) => (
        <button type="button" className="link" onClick={() => choose(path)}>
          {path}
        </button>
      ),
      by: 'path',
    },
    { name: 'State', cell: (row) => <StateWord {...stateOf(row)} />, by: 'state' },
    {
      name: 'Changed',
      cell: (row) => <Age since={row.updated_time ?? row.creation_time} />,
      by: 'changed',
      isNumber: true,
    },
    { name: 'Type', cell: (row) => <code>{row.resource_type}</code>, by: 'type', isExtra: true },
    {
      name: 'Reason',
      cell: (row) => (
        <span className="dim">
          <Sentence text={reasonText(row.resource_status_reason)} />
        </span>
      ),
      isExtra: true,
      fills: true,
    },
  ];
  return (
    <div className="stackwise">
      <div className="row">
        <Filter what="resources by name, type or state" />
      </div>
      {chosen !== undefined && <Detail key={chosen} stack={stack} path={chosen} />}
      <section className="card">
        <PagedTable
          list="stack"
          of={stack}
          label="Resources"
          ask={({ stacks }, page) => stacks.resourcePage({ stack, ...page })}
          columns={columns}
          keyOf={({ path, physical_resource_id: id }) => `${path} ${id ?? ''}`}
          empty={(find) => (
            <Empty>{find === '' ? 'This stack has no resources.' : 'No resource matches the filter.'}</Empty>
          )}
        />
      </section>
    </div>
  );
}

function Detail({ stack, path }: { stack: string; path: string }) {
  const full = useAsk(['stack', stack, 'resource', path], (client) =>
    client.stacks.resource({ stack, resource: path }),
  );
  return <Answer of={full}>{(resource) => <Shown stack={stack} path={path} resource={resource} />}</Answer>;
}

function Shown({ stack, path, resource }: { stack: string; path: string; resource: Resource }) {
  const { failure, attributes } = resource;
  const why = useAsk(['stack', stack, 'why', path], (client) => client.actions.why({ stack, resource: path }), 10_000);
  const stderr = failure?.details?.['stderr'];
  const card = useRef<HTMLElement>(null);
  useEffect(() => {
    // It answers with a promise, which is no way to end an effect.
    card.current?.scrollIntoView({ block: 'nearest' });
  }, []);
  return (
    <section className="card" ref={card} aria-label={`Resource ${path}`}>
      <header>
        <h2>{path}</h2>
        <StatePill {...stateOf(resource)} />
        <span className="more row wrap">
          <ResourceActions stack={stack} path={path} resource={resource} />
          <CloseDetail />
        </span>
      </header>
      <div className="body stackwise">
        {why.data && <WhyCard why={why.data} tone={toneOfWhy(why.data, toneOf(resource.resource_status))} />}
        <dl className="facts">
          <dt>Type</dt>
          <dd className="mono">{resource.resource_type}</dd>
          <dt>Id</dt>
          <dd className="mono">{resource.physical_resource_id}</dd>
          <dt>Started</dt>
          <dd>
            {resource.started_at === null ? (
              'not yet'
            ) : (
              <>
                <Age since={resource.started_at} /> ago
              </>
            )}
          </dd>
        </dl>
        {failure && (
          <p className="tone-failed">
            <Sentence text={failure.message} />
          </p>
        )}
        {failure?.remedy && <p>{failure.remedy}</p>}
        {typeof stderr === 'string' && stderr !== '' && (
          <pre className="output" tabIndex={0} aria-label="Error output">
            {stderr}
          </pre>
        )}
        {attributes && Object.keys(attributes).length > 0 && (
          <details open={!failure}>
            <summary>Attributes</summary>
            <pre className="output" tabIndex={0}>
              {JSON.stringify(attributes, null, 2)}
            </pre>
          </details>
        )}
        <Same
          command={`anneal resource show ${quoted(stack)} ${quoted(path)}`}
          request="GET /orchestration/v1/{project}/stacks/{stack}/{id}/resources/{resource}"
        />
      </div>
    </section>
  );
}

/** What an operator does with one resource. */
function ResourceActions({ stack, path, resource }: { stack: string; path: string; resource: Resource }) {
  const { client } = useSession();
  const { attempt } = useNotify();
  const request = `POST /api/v1/stacks/${encodeURIComponent(stack)}/resources/${encodeURIComponent(path)}/actions`;
  const words = `${quoted(stack)} ${quoted(path)}`;
  const act = (action: ResourceAct, done: string) =>
    attempt(() => client.actions.actOn({ stack, resource: path, action }), done);
  const isMarked = /marked unhealthy|^CHECK_FAILED/.test(
    `${resource.resource_status} ${resource.resource_status_reason}`,
  );
  return (
    <>
      {resource.resource_status.endsWith('FAILED') && !isMarked && (
        <Confirm
          label="Skip"
          title={`Accept ${path} as it is?`}
          command={`anneal resource skip ${words}`}
          request={request}
          onConfirm={() => act({ kind: 'skip' }, `Skipped ${path}.`)}
        >
          It counts as complete although it failed, and what depends on it continues. The next update that changes it
          tries it again.
        </Confirm>
      )}
      {isMarked ? (
        <Act
          label="Mark healthy"
          command={`anneal resource mark-healthy ${words}`}
          request={request}
          onAct={() => act({ kind: 'mark', unhealthy: false, reason: '' }, `${path} is marked healthy.`)}
        />
      ) : (
        resource.resource_status.endsWith('COMPLETE') &&
        !resource.resource_status.startsWith('INIT') && (
          <Confirm
            label="Mark unhealthy"
            title={`Mark ${path} unhealthy?`}
            command={`anneal resource mark-unhealthy ${words}`}
            request={request}
            onConfirm={() =>
              act({ kind: 'mark', unhealthy: true, reason: 'in the console' }, `${path} is marked unhealthy.`)
            }
          >
            The next update of the stack replaces it, with everything that must follow. Until then nothing changes, and
            it can be marked healthy again.
          </Confirm>
        )
      )}
    </>
  );
}
