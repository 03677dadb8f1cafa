/** Template, parameters, graph and plan of a stack, and the button that applies them. */
import type { ShownPlan } from '@anneal/client/actions.ts';
import type { TemplateBundle } from '@anneal/client/stacks.ts';
import { AnnealError, type Mistake } from '@anneal/contracts/errors.ts';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useMemo, useRef, useState, type ReactNode } from 'react';
import { ErrorCard } from '../parts/error-card.tsx';
import { Same } from '../parts/same.tsx';
import { useNotify } from '../parts/notices.tsx';
import { optionsOf } from '../parts/quoted.ts';
import { useSession } from '../session/session.tsx';
import { useCheck, useTypes, type CheckState } from './check.ts';
import { TemplateEditor } from './editor.tsx';
import { Files, type ExtraFiles } from './files.tsx';
import { changedValues, missingIn, ParameterForm, type Values } from './form.tsx';
import { destroyedBy, PlanView, planWords } from './plan-view.tsx';
import { GraphPreview } from './preview.tsx';

export interface Start {
  readonly template: string;
  readonly values: Values;
}

interface Planned {
  /** What was planned; another text needs another plan. */
  readonly of: string;
  readonly plan: ShownPlan;
}

interface WorkbenchProps {
  readonly start: Start;
  /** The stack to change; undefined for a new one. */
  readonly stack?: { readonly id: string; readonly name: string } | undefined;
  /** The stored state that the change begins from instead of the current one. */
  readonly revision?: string | undefined;
  /** Key of the draft in this browser tab. */
  readonly draft: string;
  readonly heading: ReactNode;
}

/** What is written, what the server says about it, and what can be done with it. */
function useWork({ start, stack, revision, draft }: WorkbenchProps) {
  const [template, setTemplate] = useDraft(draft, start.template);
  const [values, setValues] = useState<Values>(start.values);
  const [files, setFiles] = useState<ExtraFiles>({ files: {}, environments: [] });
  const [name, setName] = useState('');
  const bundle: TemplateBundle = { template, files: files.files, environmentFiles: files.environments };
  const parameters = changedValues(values, start.values);
  const checked = useCheck(bundle, parameters, stack?.id);
  const target = stack?.name ?? name;
  const missing = missingIn(checked.parameters, values);
  return {
    template,
    setTemplate,
    values,
    setValues,
    files,
    setFiles,
    name,
    setName,
    bundle,
    parameters,
    checked,
    target,
    stack,
    revision,
    /** Another text needs another plan. */
    current: JSON.stringify([bundle, parameters, name, revision]),
    refusal: refusalOf({ checked, missing, target }),
    forget: () => sessionStorage.removeItem(draft),
  };
}
type Work = ReturnType<typeof useWork>;

/** The plan of what is written, and its application. */
function usePlan(work: Work) {
  const { client } = useSession();
  const navigate = useNavigate();
  const { attempt } = useNotify();
  const [planned, setPlanned] = useState<Planned>();
  const [failure, setFailure] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const { bundle, parameters, stack, revision, target, name } = work;
  const plan = async (): Promise<void> => {
    if (work.refusal !== undefined) return;
    setBusy(true);
    setFailure(undefined);
    try {
      const found = await client.actions.plan({
        stack: target,
        bundle,
        parameters,
        fresh: stack === undefined,
        ...(stack && { existing: true, revision }),
      });
      setPlanned({ of: work.current, plan: found });
    } catch (error) {
      setPlanned(undefined);
      setFailure(error);
    }
    setBusy(false);
  };
  const send = () =>
    stack
      ? client.stacks.update({
          stack: stack.id,
          bundle,
          parameters,
          existing: true,
          revision,
          planHash: planned?.plan.hash,
        })
      : client.stacks.create({ name, bundle, parameters });
  const apply = async (): Promise<void> => {
    setBusy(true);
    const what = stack ? 'update' : 'creation';
    const isDone = await attempt(send, `The ${what} of ${target} has started.`);
    setBusy(false);
    if (!isDone) return;
    work.forget();
    await navigate({ to: '/stacks/$stack', params: { stack: target } });
  };
  return { planned, failure, isBusy, plan, apply };
}

export function Workbench(props: WorkbenchProps) {
  const work = useWork(props);
  const types = useTypes();
  const planning = usePlan(work);
  const { checked, template } = work;
  const mistakes = [...checked.mistakes, ...mistakesOf(planning.failure)];
  return (
    <div className="stackwise">
      <div className="heading">{props.heading}</div>
      <div className="two bench">
        <section className="card" aria-label="Template">
          <header>
            <h2>Template</h2>
            <span className="more" role="status">
              <CheckWords checked={checked} />
            </span>
          </header>
          <TemplateEditor
            label="Template in YAML"
            value={template}
            onChange={work.setTemplate}
            onSubmit={() => void planning.plan()}
            mistakes={mistakes}
            warnings={checked.warnings}
            types={types}
          />
          <MistakeList mistakes={mistakes} />
        </section>
        <Inputs work={work} mistakes={mistakes} />
      </div>
      <PlanArea work={work} planning={planning} />
    </div>
  );
}

function Inputs({ work, mistakes }: { work: Work; mistakes: readonly Mistake[] }) {
  const { checked, stack, name, values, files } = work;
  return (
    <div className="stackwise">
      <section className="card">
        <header>
          <h2>{stack ? 'Parameters' : 'Stack'}</h2>
        </header>
        <div className="body form">
          {!stack && (
            <div>
              <label htmlFor="stack-name">Name of the stack</label>
              <input
                id="stack-name"
                className="field"
                value={name}
                onChange={(event) => work.setName(event.target.value)}
              />
            </div>
          )}
          <ParameterForm
            parameters={checked.parameters}
            values={values}
            mistakes={mistakes}
            onChange={work.setValues}
          />
          <Files value={files} onChange={work.setFiles} onTemplate={work.setTemplate} />
        </div>
      </section>
      {checked.outline && checked.outline.resources > 0 && <GraphPreview outline={checked.outline} />}
    </div>
  );
}

function PlanArea({ work, planning }: { work: Work; planning: ReturnType<typeof usePlan> }) {
  const { planned, failure, isBusy, plan, apply } = planning;
  const { stack, current, refusal } = work;
  const area = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (planned) area.current?.scrollIntoView({ block: 'nearest' });
  }, [planned]);
  const words =
    planned?.of === current
      ? planWords(planned.plan.changes)
      : 'Shows what would change, and changes nothing. Ctrl Enter.';
  return (
    <div ref={area} className="stackwise">
      <div className="row wrap">
        <button
          type="button"
          className="button first"
          disabled={isBusy || refusal !== undefined}
          onClick={() => void plan()}
        >
          Plan
        </button>
        <span className="dim">{refusal ?? words}</span>
      </div>
      {failure !== undefined && <ErrorCard error={failure} />}
      {planned && (
        <PlanCard
          key={planned.of}
          plan={planned.plan}
          isStale={planned.of !== current}
          isBusy={isBusy}
          label={stack ? 'Apply' : 'Create the stack'}
          onApply={() => void apply()}
        />
      )}
      <Same
        command={commandOf(work)}
        request={
          stack
            ? `PATCH /orchestration/v1/{project}/stacks/${stack.name}/${stack.id}`
            : 'POST /orchestration/v1/{project}/stacks'
        }
      />
    </div>
  );
}

const mistakesOf = (failure: unknown): readonly Mistake[] =>
  failure instanceof AnnealError ? (failure.mistakes ?? []) : [];

/** Why nothing can be planned yet. */
function refusalOf(of: { checked: CheckState; missing: readonly string[]; target: string }): string | undefined {
  const { checked, missing, target } = of;
  if (target === '') return 'Give the stack a name.';
  if (!/^[A-Za-z][A-Za-z0-9_.-]{0,254}$/.test(target))
    return 'A name begins with a letter and contains letters, digits, "_", "-" and ".".';
  if (checked.mistakes.length > 0) return 'Correct the mistakes first.';
  return missing.length > 0 ? `Give a value: ${missing.join(', ')}.` : undefined;
}

function commandOf({ stack: existing, name, parameters, files }: Work): string {
  const stack = existing?.name;
  return [
    stack === undefined ? `anneal stack create ${name || 'NAME'}` : `anneal stack plan ${stack}`,
    '-t template.yaml',
    ...files.environments.map((file) => `-e ${file}`),
    ...optionsOf('-P', parameters),
    ...(stack === undefined ? [] : ['--existing']),
  ].join(' ');
}

function CheckWords({ checked }: { checked: CheckState }) {
  const { mistakes, warnings, isCurrent, failure, outline } = checked;
  if (failure !== '') return <span className="tone-failed">not checked: {failure}</span>;
  if (mistakes.length > 0)
    return <span className="tone-failed">{mistakes.length === 1 ? '1 mistake' : `${mistakes.length} mistakes`}</span>;
  if (!isCurrent || !outline) return <>checking …</>;
  return <>{warnings.length > 0 ? `valid, ${warnings.length} warnings` : `valid, ${outline.resources} resources`}</>;
}

function MistakeList({ mistakes }: { mistakes: readonly Mistake[] }) {
  if (mistakes.length === 0) return null;
  return (
    <ul className="body mistakes" aria-label="Mistakes">
      {mistakes.slice(0, 30).map(({ path, message, line, column, nearest, file }) => (
        <li key={`${path} ${message} ${line ?? ''}`}>
          <span className="mono dim">
            {file !== undefined && file !== 'template' ? `${file}:` : ''}
            {line === undefined ? path : `${line}:${column ?? 1}`}
          </span>{' '}
          {message}
          {nearest !== undefined && `; did you mean ${nearest}?`}
        </li>
      ))}
    </ul>
  );
}

function PlanCard(props: { plan: ShownPlan; isStale: boolean; isBusy: boolean; label: string; onApply: () => void }) {
  const { plan, isStale, isBusy } = props;
  const destroyed = useMemo(() => destroyedBy(plan.changes), [plan]);
  const [agreed, agree] = useState(false);
  const isNothing = plan.changes.every(({ change }) => change === 'unchanged');
  return (
    <section className="card" aria-label="Plan">
      <header>
        <h2>Plan</h2>
        <span className="more">{isStale ? 'out of date: plan again' : planWords(plan.changes)}</span>
      </header>
      <div className={isStale ? 'body stackwise stale' : 'body stackwise'}>
        <PlanView changes={plan.changes} />
        {destroyed.length > 0 && (
          <label className="row">
            <input type="checkbox" checked={agreed} onChange={(event) => agree(event.target.checked)} />
            {destroyed.length === 1 ? '1 resource is' : `${destroyed.length} resources are`} deleted or replaced, and
            what is on them is lost.
          </label>
        )}
        <div className="row">
          <button
            type="button"
            className="button first"
            disabled={isBusy || isStale || (destroyed.length > 0 && !agreed)}
            onClick={props.onApply}
          >
            {props.label}
          </button>
          {isNothing && <span className="dim">Nothing would change.</span>}
        </div>
      </div>
    </section>
  );
}

/** A text that survives a reload of this tab. */
function useDraft(key: string, start: string): [string, (text: string) => void] {
  const [text, setText] = useState(() => sessionStorage.getItem(key) ?? start);
  useEffect(() => {
    if (text === start) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, text);
  }, [key, text, start]);
  return [text, setText];
}
