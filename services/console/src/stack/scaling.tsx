/** The groups of a stack that scale: size over time and why, members, pause and resize; and the alarms of the stack. */
import type { GroupAct, GroupView } from '@anneal/contracts/calls/scaling.ts';
import { formatClock, formatDuration } from '@anneal/client/text/time.ts';
import { toneOf } from '@anneal/client/text/tone.ts';
import { useEffect, useRef, useState } from 'react';
import { useAsk } from '../live/ask.ts';
import { Act } from '../parts/act.tsx';
import { Answer } from '../parts/answer.tsx';
import { Empty } from '../parts/command.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { useNotify } from '../parts/notices.tsx';
import { Mark, QuietMark, StatePill, wordsOf } from '../parts/state.tsx';
import { useSession } from '../session/session.tsx';
import { Same } from '../parts/same.tsx';
import { Clock, useNow } from '../parts/time.tsx';
import { Alarms } from './alarms.tsx';
import type { PlacedResource } from './resources.tsx';
import { sizeSteps } from './size-steps.ts';

const isGroup = ({ resource_type: type }: PlacedResource): boolean =>
  /AutoScalingGroup$|Scaling::Group$|InstanceGroup$/.test(type);

const mostGroups = 200;

export function Scaling({ stack }: { stack: string }) {
  const page = useAsk(['stack', stack, 'groups'], (client) =>
    client.stacks.resourcePage({ stack, find: 'group', limit: mostGroups }),
  );
  return <Answer of={page}>{({ rows }) => <Groups stack={stack} groups={rows.filter(isGroup)} />}</Answer>;
}

function Groups({ stack, groups }: { stack: string; groups: readonly PlacedResource[] }) {
  return (
    <div className="stackwise">
      {groups.length === 0 && (
        <section className="card">
          <Empty command="anneal explain OS::Heat::AutoScalingGroup">
            {stack} has no group that scales: a resource of the type OS::Heat::AutoScalingGroup or
            Anneal::Scaling::Group.
          </Empty>
        </section>
      )}
      {groups.map(({ path }) => (
        <Group key={path} stack={stack} path={path} />
      ))}
      <Alarms stack={stack} />
    </div>
  );
}

function Group({ stack, path }: { stack: string; path: string }) {
  const group = useAsk(['stack', stack, 'group', path], (client) => client.groups.show({ stack, group: path }), 3000);
  const isShown = group.data !== undefined;
  // A link to a group is older than its card, which waits for an answer.
  useEffect(() => {
    if (isShown && decodeURIComponent(location.hash) === `#group-${path}`) {
      document.getElementById(`group-${path}`)?.scrollIntoView();
    }
  }, [isShown, path]);
  return (
    <Answer of={group}>
      {(shown) => (
        <section className="card" id={`group-${path}`} aria-label={`Group ${path}`}>
          <header>
            <h2>{path}</h2>
            <StatePill state={shown.status} />
            <span className="more">
              {shown.size} {shown.size === 1 ? 'member' : 'members'}
              {shown.min_size !== null && `, ${shown.min_size} to ${shown.max_size ?? 'any'}`}
              {shown.warm_pool && `, ${shown.warm_pool.members.length} of ${shown.warm_pool.size} warm`}
              {shown.paused !== 'none' && `, paused ${shown.paused}`}
            </span>
          </header>
          <div className="body stackwise">
            <Resize stack={stack} path={path} group={shown} />
            {shown.deciding && (
              <p className="tone-wait">
                A listener decides about {shown.deciding.before} → {shown.deciding.after} until{' '}
                {formatClock(shown.deciding.deadline)}.
              </p>
            )}
            <Refresh stack={stack} path={path} group={shown} />
            <Members members={shown.members} label="Members" of={{ stack, path }} />
            {shown.warm_pool && <Members members={shown.warm_pool.members} label="Warm pool" />}
            <Outcomes group={shown} />
            <Same
              command={`anneal group show ${stack} ${path}`}
              request={`GET /api/v1/stacks/${stack}/groups/${path}`}
            />
          </div>
        </section>
      )}
    </Answer>
  );
}

function Resize({ stack, path, group }: { stack: string; path: string; group: GroupView }) {
  const { client } = useSession();
  const { attempt } = useNotify();
  // The size of the group, until a person types another one. That one stays until it is sent and the group changes.
  const [typed, setTyped] = useState<string>();
  const size = typed ?? String(group.size);
  const isSent = useRef(false);
  useEffect(() => {
    if (isSent.current) setTyped(undefined);
    isSent.current = false;
  }, [group.size]);
  const request = `POST /api/v1/stacks/${encodeURIComponent(stack)}/groups/${encodeURIComponent(path)}/actions`;
  const resizing = (to: number) => ({
    action: () => client.groups.act({ stack, group: path, action: { kind: 'resize', size: to } }),
    done: `${path} goes to ${to}.`,
  });
  const resize = (): void => {
    isSent.current = true;
    const { action, done } = resizing(Number(size));
    // A group that has become smaller gets new members: its old ones are gone.
    void attempt(action, done, Number(size) > group.size ? resizing(group.size) : undefined);
  };
  const isPaused = group.paused !== 'none';
  const pausing = (scaling: 'none' | 'both') => ({
    action: () => client.groups.act({ stack, group: path, action: { kind: 'pause', scaling } }),
    done: scaling === 'none' ? `Policies may scale ${path} again.` : `No policy scales ${path}.`,
  });
  const pause = (): void => {
    const { action, done } = pausing(isPaused ? 'none' : 'both');
    void attempt(action, done, pausing(isPaused ? 'both' : 'none'));
  };
  const fewer = group.size - Number(size);
  return (
    <div className="row wrap">
      <label htmlFor={`size-${path}`}>Size</label>
      <input
        id={`size-${path}`}
        className="field"
        type="number"
        min={group.min_size ?? 0}
        max={group.max_size ?? undefined}
        style={{ width: 90 }}
        value={size}
        onChange={(event) => setTyped(event.target.value)}
      />
      {fewer > 0 && size !== '' ? (
        <Confirm
          label="Resize"
          title={`Remove ${fewer} of ${group.size} members of ${path}?`}
          name={path}
          command={`anneal group resize ${stack} ${path} ${size}`}
          request={request}
          onConfirm={async () => resize()}
        >
          The members that go are deleted with what is on them. A larger size later makes new ones.
        </Confirm>
      ) : (
        <Act
          label="Resize"
          command={`anneal group resize ${stack} ${path} ${size}`}
          request={request}
          isOff={fewer === 0 || size === ''}
          onAct={resize}
        />
      )}
      <Act
        label={isPaused ? 'Let policies scale it' : 'Pause its policies'}
        command={`anneal group ${isPaused ? 'resume' : 'pause'} ${stack} ${path}`}
        request={request}
        onAct={pause}
      />
    </div>
  );
}

function Members({
  members,
  label,
  of,
}: {
  members: GroupView['members'];
  label: 'Members' | 'Warm pool';
  /** The group, for actions on its members. */
  of?: { readonly stack: string; readonly path: string };
}) {
  if (members.length === 0)
    return <p className="dim">{label === 'Members' ? 'It has no members.' : 'Its warm pool is empty.'}</p>;
  return (
    <>
      {label === 'Warm pool' && <p className="dim">Warm pool, not in service</p>}
      <ul className="members" aria-label={label}>
        {members
          .slice(0, 200)
          .map(({ name, status, lost_since: lost, lost_reason: reason, protected: isProtected }) => (
            <li key={name} className="row">
              {lost === null && toneOf(status) === 'done' ? (
                <QuietMark />
              ) : (
                <Mark tone={lost === null ? toneOf(status) : 'failed'} />
              )}
              <span className="grow cut">
                <b>{name}</b>{' '}
                <span className="dim">
                  {[
                    ...(toneOf(status) === 'done' ? [] : [wordsOf(status)]),
                    ...(isProtected ? ['protected'] : []),
                    ...(lost === null ? [] : [`lost: ${reason ?? 'its host is silent'}`]),
                  ].join(', ')}
                </span>
              </span>
              {of && <MemberActions {...of} member={name} isProtected={isProtected} />}
            </li>
          ))}
      </ul>
    </>
  );
}

/** What an operator does with one member. */
function MemberActions(props: { stack: string; path: string; member: string; isProtected: boolean }) {
  const { stack, path, member, isProtected } = props;
  const { client } = useSession();
  const { attempt } = useNotify();
  const act = (action: GroupAct, done: string) =>
    attempt(() => client.groups.act({ stack, group: path, action }), done);
  const same = (verb: string) => ({
    command: `anneal group ${verb} ${stack} ${path} ${member}`,
    request: `POST /api/v1/stacks/${encodeURIComponent(stack)}/groups/${encodeURIComponent(path)}/actions`,
  });
  return (
    <span className="more row">
      <Act
        label={isProtected ? 'Unprotect' : 'Protect'}
        {...same(isProtected ? 'unprotect' : 'protect')}
        onAct={() =>
          act(
            { kind: 'protect', members: [member], protected: !isProtected },
            isProtected ? `${member} may leave.` : `${member} never leaves when the group shrinks.`,
          )
        }
      />
      <Confirm
        label="Replace"
        title={`Replace the member ${member} of ${path}?`}
        name={member}
        {...same('remove --replace')}
        onConfirm={() =>
          act(
            { kind: 'remove', members: [member], replace: true },
            `${member} leaves, and a new member takes its place.`,
          )
        }
      >
        The member is deleted with what is on it. A new one takes its place.
      </Confirm>
    </span>
  );
}

/** Replaces all members in batches, and what one can do with a refresh that runs. */
function Refresh({ stack, path, group: { refresh } }: { stack: string; path: string; group: GroupView }) {
  const { client } = useSession();
  const { attempt } = useNotify();
  const request = `POST /api/v1/stacks/${encodeURIComponent(stack)}/groups/${encodeURIComponent(path)}/actions`;
  const act = (action: GroupAct, done: string) =>
    attempt(() => client.groups.act({ stack, group: path, action }), done);
  const isRunning = refresh !== null && (refresh.state === 'running' || refresh.state === 'waiting');
  if (!isRunning) {
    return (
      <p>
        <Confirm
          label="Refresh all members"
          title={`Replace all members of ${path}, one after the other?`}
          name={path}
          command={`anneal group refresh ${stack} ${path}`}
          request={request}
          onConfirm={() => act({ kind: 'refresh', batch: 1, checkpoints: [] }, `${path} replaces its members.`)}
        >
          Each member is deleted with what is on it, after a new one has taken its place.
        </Confirm>
      </p>
    );
  }
  return (
    <p className="row wrap">
      <span>
        Refresh {refresh.state}, {refresh.done} of {refresh.total}
      </span>
      {refresh.state === 'waiting' && (
        <Act
          label="Continue"
          command={`anneal group refresh ${stack} ${path} --continue`}
          request={request}
          onAct={() => act({ kind: 'continue refresh' }, 'The refresh goes on.')}
        />
      )}
      <Act
        label="Cancel the refresh"
        command={`anneal group refresh ${stack} ${path} --cancel`}
        request={request}
        onAct={() => act({ kind: 'cancel refresh' }, 'The refresh ends after its batch.')}
      />
    </p>
  );
}

function Outcomes({ group: { outcomes } }: { group: GroupView }) {
  if (outcomes.length === 0) return <p className="dim">Nothing has asked for another size yet.</p>;
  return (
    <>
      <Sizes changes={outcomes.filter(({ result }) => result === 'applied')} />
      <ul className="log flat" aria-label="Changes of size">
        {outcomes.map(({ id, at, result, before, after, message }) => (
          <li key={id}>
            <Clock time={at} />
            <Mark tone={result === 'applied' ? 'done' : result === 'refused' ? 'failed' : 'wait'} label={result} />
            <span>
              {before} → {after}
            </span>
            <span className="dim detail">{message}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

const chart = { width: 600, height: 54 };

/** The size over time. The list below it says the same in words. */
function Sizes({ changes }: { changes: GroupView['outcomes'] }) {
  const now = useNow();
  const found = sizeSteps(changes, { now, ...chart });
  if (!found) return null;
  const { points, from, most } = found;
  return (
    <figure className="sizes">
      <span className="dim number">{most}</span>
      <svg
        className="chart"
        viewBox={`0 -5 ${chart.width} ${chart.height + 10}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Size over the last ${formatDuration(now - from)}, at most ${most}`}
      >
        <polyline points={points.map((point) => point.join(',')).join(' ')} vectorEffect="non-scaling-stroke" />
      </svg>
      <span className="dim number low">0</span>
      <span className="dim axis">
        <Clock time={new Date(from).toISOString()} />
        <span>now</span>
      </span>
    </figure>
  );
}
