/** One stack: why it stands where it stands, what can be done, and its parts. */
import { changedTime, shownState } from '@anneal/client/text/stack-state.ts';
import { toneOf } from '@anneal/client/text/tone.ts';
import type { StackAct } from '@anneal/contracts/calls/stacks.ts';
import type { Stack } from '@anneal/client/representation.ts';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useAsk } from '../live/ask.ts';
import { Act } from '../parts/act.tsx';
import { Answer } from '../parts/answer.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { Empty } from '../parts/command.tsx';
import { toneOfWhy } from '../parts/needs.ts';
import { useNotify } from '../parts/notices.tsx';
import { quoted } from '../parts/quoted.ts';
import { Sentence } from '../parts/sentence.tsx';
import { StatePill } from '../parts/state.tsx';
import { Age } from '../parts/time.tsx';
import { WhyCard } from '../asking/why.tsx';
import { useSession } from '../session/session.tsx';
import { Abandon } from '../stack/abandon.tsx';
import { Cancel } from '../stack/cancel.tsx';
import { StackEvents } from '../stack/events.tsx';
import { StackHistory } from '../stack/history-tab.tsx';
import { Snapshots } from '../stack/snapshots.tsx';
import { StackOutputs } from '../stack/outputs.tsx';
import { Scaling } from '../stack/scaling.tsx';
import { Resources } from '../stack/resources.tsx';
import { Same } from '../parts/same.tsx';
import { WorkOf } from '../stack/work.tsx';

/** The commands that print what a tab shows, and the paths of the same below the stack in the API. */
const sameAs: Readonly<Record<string, readonly [command: string, path: string]>> = {
  now: ['anneal why', 'api/v1/stacks/{stack}/why'],
  resources: ['anneal resource list --depth 10', 'api/v1/stacks/{stack}/resources'],
  events: ['anneal stack events', 'orchestration/v1/{project}/stacks/{stack}/{id}/events'],
  outputs: ['anneal output list', 'orchestration/v1/{project}/stacks/{stack}/{id}/outputs'],
  parameters: ['anneal stack show', 'orchestration/v1/{project}/stacks/{stack}'],
};

const tabs = ['now', 'resources', 'events', 'outputs', 'parameters', 'scaling', 'history'] as const;

/** Brings the chosen tab into the view of a small screen. */
function showTab(tabsOf: HTMLElement | null): void {
  tabsOf?.querySelector('[data-status=active]')?.scrollIntoView({ inline: 'nearest', block: 'nearest' });
}

export function StackPage() {
  const { stack: name } = useParams({ from: '/stacks/$stack' });
  const { tab: wanted } = useSearch({ from: '/stacks/$stack' });
  const tab = tabs.find((one) => one === wanted) ?? 'now';
  const stack = useAsk(['stack', name], (client) => client.stacks.show({ stack: name, outputs: false }));
  const same = sameAs[tab];
  return (
    <Answer of={stack}>
      {(shown) => (
        <div className="stackwise">
          <Heading stack={shown} />
          <nav key={tab} className="tabs" aria-label="Parts of the stack" ref={showTab}>
            {tabs.map((one) => (
              <Link
                key={one}
                to="."
                search={{ tab: one === 'now' ? undefined : one }}
                activeOptions={{ includeSearch: true, explicitUndefined: true }}
              >
                {one.slice(0, 1).toUpperCase() + one.slice(1)}
              </Link>
            ))}
          </nav>
          {tab === 'now' && <Now stack={shown} />}
          {tab === 'resources' && <Resources stack={name} />}
          {tab === 'events' && <StackEvents stack={name} />}
          {tab === 'outputs' && <StackOutputs stack={name} />}
          {tab === 'scaling' && <Scaling stack={name} />}
          {tab === 'history' && (
            <>
              <StackHistory stack={name} />
              <Snapshots stack={name} />
            </>
          )}
          {tab === 'parameters' && <Parameters stack={shown} />}
          {same && <Same command={`${same[0]} ${quoted(name)}`} request={`GET /${same[1].replace('{stack}', name)}`} />}
        </div>
      )}
    </Answer>
  );
}

/** Heat describes a stack without a description with these words. */
const isDescribed = (description: string | null | undefined): boolean =>
  description !== '' && description !== undefined && description !== null && description !== 'No description';

function Heading({ stack }: { stack: Stack }) {
  const { client, session } = useSession();
  const { attempt } = useNotify();
  const navigate = useNavigate();
  const { stack_name: name, stack_status: status } = stack;
  const isBusy = status.endsWith('IN_PROGRESS');
  const act = (label: string, action: StackAct) => (
    <Act
      label={label}
      command={`anneal stack ${action.kind} ${name}`}
      request={`POST /api/v1/stacks/${encodeURIComponent(name)}/actions`}
      onAct={() =>
        attempt(
          () => client.actions.act({ stack: name, action }),
          `${label} of ${name} has started.`,
          action.kind === 'suspend'
            ? {
                action: () => client.actions.act({ stack: name, action: { kind: 'resume' } }),
                done: `Resume of ${name} has started.`,
              }
            : undefined,
        )
      }
    />
  );
  const remove = async () => {
    if (await attempt(() => client.stacks.delete({ stack: name }), `The deletion of ${name} has started.`)) {
      await navigate({ to: '/stacks' });
    }
  };
  return (
    <div className="heading">
      <h1>{name}</h1>
      <StatePill state={shownState(stack)} />
      <span className="dim about" title={stack.description ?? ''}>
        changed <Age since={changedTime(stack)} /> ago
        {isDescribed(stack.description) && ` · ${stack.description}`}
      </span>
      <div className="actions">
        {status.endsWith('FAILED') && act('Retry', { kind: 'retry' })}
        {status === 'UPDATE_FAILED' && act('Roll back', { kind: 'rollback' })}
        {status === 'UPDATE_IN_PROGRESS' && <Cancel stack={name} rollback />}
        {status === 'CREATE_IN_PROGRESS' && <Cancel stack={name} rollback={false} />}
        {!isBusy && act('Check', { kind: 'check' })}
        {!isBusy && status.endsWith('COMPLETE') && act('Suspend', { kind: 'suspend' })}
        {status === 'SUSPEND_COMPLETE' && act('Resume', { kind: 'resume' })}
        <Link className="button" to="/stacks/$stack/change" params={{ stack: name }}>
          Change …
        </Link>
        {!isBusy && <Abandon stack={name} id={stack.id} />}
        <Confirm
          label="Delete"
          title={`Delete the stack ${name}?`}
          name={name}
          command={`anneal stack delete ${name}`}
          request={`DELETE /orchestration/v1/${session.project.id}/stacks/${name}/${stack.id}`}
          onConfirm={remove}
        >
          All its servers are released and their machines erased. This cannot be undone.
        </Confirm>
      </div>
    </div>
  );
}

function Now({ stack }: { stack: Stack }) {
  const { stack_name: name } = stack;
  const why = useAsk(['stack', name, 'why'], (client) => client.actions.why({ stack: name }), 5000);
  return (
    <div className="stackwise">
      <Answer of={why}>{(shown) => <WhyCard why={shown} tone={toneOfWhy(shown, toneOf(shownState(stack)))} />}</Answer>
      <Failures stack={stack} />
      <WorkOf stack={name} />
    </div>
  );
}

const mostFailures = 5;

/** The root cause first, with what its script wrote. */
function Failures({ stack: { failures } }: { stack: Stack }) {
  if (failures.length === 0) return null;
  return (
    <section className="card">
      <header>
        <h2>Failures</h2>
        <span className="more">{failures.length}, the root cause first</span>
      </header>
      <div className="body stackwise">
        {failures.slice(0, mostFailures).map(({ resource, type, failure }) => {
          const written = [failure.details?.['stderr'], failure.details?.['stdout']].find(
            (text) => typeof text === 'string' && text !== '',
          );
          return (
            <div key={resource}>
              <p>
                <b>{resource}</b> <code className="dim">{type}</code>
              </p>
              <p className="tone-failed">
                <Sentence text={failure.message} />
              </p>
              {failure.remedy && <p>{failure.remedy}</p>}
              {typeof written === 'string' && (
                <pre className="output" tabIndex={0}>
                  {written}
                </pre>
              )}
            </div>
          );
        })}
      </div>
    </section>
  );
}

function Parameters({ stack: { parameters, stack_name: name } }: { stack: Stack }) {
  const entries = Object.entries(parameters);
  return (
    <section className="card">
      {entries.length === 0 ? (
        <Empty>{name} has no parameters.</Empty>
      ) : (
        <dl className="facts body">
          {entries.map(([key, value]) => (
            <div key={key} style={{ display: 'contents' }}>
              <dt>{key}</dt>
              <dd className="mono">{typeof value === 'string' ? value : JSON.stringify(value)}</dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  );
}
