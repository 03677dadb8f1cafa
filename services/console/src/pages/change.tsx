/** A change of a stack: from its template as it is, or from a stored revision, to a plan and its application. */
import { shownState } from '@anneal/client/text/stack-state.ts';
import type { Stack } from '@anneal/client/representation.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { Link, useParams, useSearch } from '@tanstack/react-router';
import { useMemo } from 'react';
import { useAsk } from '../live/ask.ts';
import { Answer } from '../parts/answer.tsx';
import { StatePill } from '../parts/state.tsx';
import { Workbench, type Start } from '../template/workbench.tsx';
import { yamlOf } from '../template/yaml.ts';

export function ChangePage() {
  const { stack: name } = useParams({ from: '/stacks/$stack/change' });
  const { revision } = useSearch({ from: '/stacks/$stack/change' });
  const stack = useAsk(['stack', name], (client) => client.stacks.show({ stack: name, outputs: false }));
  // Only the first answer counts: what is written must not change under the writer.
  const begin = useAsk(['change', name, revision ?? ''], async (client) => {
    if (revision === undefined) {
      return {
        template: await client.stacks.template({ stack: name }),
        parameters: (await client.stacks.show({ stack: name, outputs: false })).parameters,
      };
    }
    return client.stacks.revision({ stack: name, revision });
  });
  return (
    <Answer of={stack}>
      {(shown) => (
        <Answer of={begin}>
          {({ template, parameters }) => (
            <Change key={revision} stack={shown} template={template} parameters={parameters} revision={revision} />
          )}
        </Answer>
      )}
    </Answer>
  );
}

function Change(props: { stack: Stack; template: JsonObject; parameters: JsonObject; revision: string | undefined }) {
  const { stack, template, parameters, revision } = props;
  const start = useMemo<Start>(
    () => ({
      template: yamlOf(template),
      values: Object.fromEntries(
        Object.entries(parameters)
          // A hidden value stays as it is unless a new one is typed.
          .filter(([key, value]) => !key.startsWith('OS::') && value !== '******')
          .map(([key, value]) => [key, typeof value === 'string' ? value : JSON.stringify(value)]),
      ),
    }),
    [template, parameters],
  );
  const { id, stack_name: name } = stack;
  return (
    <Workbench
      start={start}
      stack={{ id, name }}
      revision={revision}
      draft={`anneal-draft:${id}:${revision ?? ''}`}
      heading={
        <>
          <h1>
            {revision === undefined ? 'Change' : 'Return'}{' '}
            <Link to="/stacks/$stack" params={{ stack: name }}>
              {name}
            </Link>
          </h1>
          <StatePill state={shownState(stack)} />
          <span className="dim">
            {revision === undefined
              ? 'Parameters, environment and files that you do not change stay as they are.'
              : 'To the template, parameters, environment and files of an earlier revision.'}
          </span>
        </>
      }
    />
  );
}
