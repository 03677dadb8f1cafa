/** A user or a project by its name or id: typed, with the first names that the server finds. */
import { useId } from 'react';
import { useAsk } from '../live/ask.ts';
import { useQuiet } from '../parts/use-quiet.ts';

const typingMs = 200;
const mostOffered = 20;

export function PickName(props: {
  kind: 'user' | 'project';
  value: string;
  onChange: (value: string) => void;
  placeholder: string;
  /** The id of the field for its label; else the label itself. */
  named: { readonly id: string } | { readonly 'aria-label': string };
}) {
  const { kind, value, onChange, placeholder, named } = props;
  const list = useId();
  const contains = useQuiet(value.trim(), typingMs);
  const found = useAsk(['identity', `${kind}s`, 'named', contains], ({ identity }) =>
    identity[`${kind}s`].names({ contains, limit: mostOffered }),
  );
  return (
    <>
      <input
        {...named}
        className="field"
        list={list}
        autoComplete="off"
        placeholder={placeholder}
        value={value}
        onChange={({ target }) => onChange(target.value)}
      />
      <datalist id={list}>
        {(found.data ?? []).map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </>
  );
}
