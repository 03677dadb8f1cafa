/** The check of a template while it is written: asked when the writer pauses, and the last good answer stays. */
import type { TemplateCheck } from '@anneal/contracts/calls/templating.ts';
import type { Mistake } from '@anneal/contracts/errors.ts';
import type { TemplateBundle } from '@anneal/client/stacks.ts';
import { useEffect, useMemo, useState } from 'react';
import { reasonOf } from '../parts/error-card.tsx';
import { useSession } from '../session/session.tsx';
import type { Types } from './complete.ts';

const pauseMs = 350;

export interface CheckState {
  readonly mistakes: readonly Mistake[];
  readonly warnings: readonly Mistake[];
  /** Those of the last text without mistakes. */
  readonly parameters: TemplateCheck['parameters'];
  readonly outline: TemplateCheck['outline'];
  /** The server could not check. */
  readonly failure: string;
  /** The answer belongs to the text that is shown. */
  readonly isCurrent: boolean;
}

const nothing: CheckState = {
  mistakes: [],
  warnings: [],
  parameters: {},
  outline: null,
  failure: '',
  isCurrent: false,
};

/** @param stack id of the stack that the template is for */
export function useCheck(
  bundle: TemplateBundle,
  parameters: Readonly<Record<string, string>>,
  stack: string | undefined,
): CheckState {
  const { client } = useSession();
  const [checked, setChecked] = useState<CheckState>(nothing);
  // The question itself decides when to ask again.
  const question = JSON.stringify([bundle, parameters, stack]);
  useEffect(() => {
    const ending = new AbortController();
    setChecked((last) => ({ ...last, isCurrent: false }));
    const ask = async (): Promise<void> => {
      const [asked, values, id] = JSON.parse(question) as [TemplateBundle, Record<string, string>, string | null];
      try {
        const found = await client.templates.check({
          bundle: asked,
          parameters: values,
          ...(id !== null && { stack: id }),
          signal: ending.signal,
        });
        const { mistakes, warnings } = found;
        const isGood = mistakes.length === 0;
        setChecked((last) => ({
          mistakes,
          warnings,
          parameters: isGood ? found.parameters : last.parameters,
          outline: isGood ? found.outline : last.outline,
          failure: '',
          isCurrent: true,
        }));
      } catch (error) {
        if (!ending.signal.aborted) setChecked((last) => ({ ...last, failure: reasonOf(error), isCurrent: true }));
      }
    };
    const timer = setTimeout(() => void ask(), pauseMs);
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [client, question]);
  return checked;
}

/** The resource types of the server, each asked once. */
export function useTypes(): Types {
  const { client } = useSession();
  return useMemo(() => {
    let all: ReturnType<Types['all']> | undefined;
    const known = new Map<string, ReturnType<Types['one']>>();
    return {
      all: () => (all ??= client.types.list().catch(() => ((all = undefined), []))),
      one(type) {
        const asked = known.get(type) ?? client.types.show({ type }).catch(() => undefined);
        known.set(type, asked);
        return asked;
      },
    };
  }, [client]);
}
