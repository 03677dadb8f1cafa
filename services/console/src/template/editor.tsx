/** The editor of a template: YAML with completion from the schema of templates, and mistakes where they are. */
import {
  acceptCompletion,
  autocompletion,
  closeBrackets,
  completionKeymap,
  type CompletionContext,
  type CompletionResult,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { bracketMatching, foldGutter, HighlightStyle, indentUnit, syntaxHighlighting } from '@codemirror/language';
import { lintGutter, setDiagnostics, type Diagnostic } from '@codemirror/lint';
import { EditorState, type Text } from '@codemirror/state';
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import type { Mistake } from '@anneal/contracts/errors.ts';
import { tags } from '@lezer/highlight';
import { useEffect, useRef } from 'react';
import { complete, type Types } from './complete.ts';
import { placeAt } from './place.ts';

// A hue means a state, so the language is shown by weight.
const highlight = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--ink)', fontWeight: '620' },
  { tag: tags.comment, color: 'var(--dim)', fontStyle: 'italic' },
  { tag: [tags.string, tags.content, tags.number, tags.bool], color: 'var(--ink)' },
  { tag: tags.meta, color: 'var(--dim)' },
]);

const completionOf =
  (types: Types) =>
  async ({ state, pos, explicit }: CompletionContext): Promise<CompletionResult | null> => {
    const text = state.doc.toString();
    const place = placeAt(text, pos);
    if (!place || (!explicit && place.prefix === '' && place.writes === 'key')) return null;
    const words = await complete(place, text, types);
    if (words.length === 0) return null;
    const isBraced = /\{[^}]*$/.test(state.doc.lineAt(pos).text.slice(0, pos - state.doc.lineAt(pos).from));
    return {
      from: pos - place.prefix.length,
      validFor: /^[\w:.$-]*$/,
      options: words.map(({ label, info, detail, suffix }) => ({
        label,
        apply: suffix === undefined ? label : label + (isBraced ? ': ' : suffix),
        ...(info !== undefined && { info }),
        ...(detail !== undefined && { detail }),
        ...(detail?.includes('required') && { boost: 5 }),
      })),
    };
  };

/** The mistakes that have a place in this text. */
export function diagnosticsOf(mistakes: readonly Mistake[], doc: Text, severity: 'error' | 'warning'): Diagnostic[] {
  return mistakes.flatMap(({ line, column = 1, message, nearest, file }) => {
    if (line === undefined || (file !== undefined && file !== '' && file !== 'template') || line > doc.lines) return [];
    const { from, to, text } = doc.line(line);
    const start = Math.min(from + column - 1, to);
    const word = /^\S+/.exec(text.slice(start - from))?.[0].length ?? 0;
    const hint = nearest === undefined ? '' : `; did you mean ${nearest}?`;
    return [{ from: start, to: Math.min(to, start + Math.max(1, word)), severity, message: message + hint }];
  });
}

export function TemplateEditor(props: {
  label: string;
  value: string;
  onChange: (value: string) => void;
  /** Ctrl Enter. */
  onSubmit: () => void;
  mistakes: readonly Mistake[];
  warnings: readonly Mistake[];
  types: Types;
}) {
  const { value, mistakes, warnings } = props;
  const parent = useRef<HTMLDivElement>(null);
  const editor = useRef<EditorView>(null);
  const latest = useRef(props);
  latest.current = props;

  useEffect(() => {
    if (!parent.current) return;
    const view = new EditorView({
      parent: parent.current,
      state: EditorState.create({
        doc: latest.current.value,
        extensions: [
          lineNumbers(),
          foldGutter(),
          lintGutter(),
          history(),
          drawSelection(),
          highlightActiveLine(),
          bracketMatching(),
          closeBrackets(),
          indentUnit.of('  '),
          EditorState.tabSize.of(2),
          yaml(),
          syntaxHighlighting(highlight),
          autocompletion({ override: [completionOf(latest.current.types)], icons: false }),
          keymap.of([
            { key: 'Mod-Enter', run: () => (latest.current.onSubmit(), true) },
            { key: 'Tab', run: acceptCompletion },
            ...completionKeymap,
            ...defaultKeymap,
            ...historyKeymap,
            indentWithTab,
          ]),
          EditorView.contentAttributes.of({ 'aria-label': latest.current.label, tabindex: '0' }),
          EditorView.updateListener.of(({ docChanged, state }) => {
            if (docChanged) latest.current.onChange(state.doc.toString());
          }),
        ],
      }),
    });
    editor.current = view;
    return () => view.destroy();
  }, []);

  useEffect(() => {
    const view = editor.current;
    // A text that comes from elsewhere, such as a file.
    if (view && value !== view.state.doc.toString()) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: value } });
    }
  }, [value]);
  useEffect(() => {
    const view = editor.current;
    if (!view) return;
    const { doc } = view.state;
    view.dispatch(
      setDiagnostics(view.state, [
        ...diagnosticsOf(mistakes, doc, 'error'),
        ...diagnosticsOf(warnings, doc, 'warning'),
      ]),
    );
  }, [mistakes, warnings]);
  return <div className="editor" ref={parent} />;
}
