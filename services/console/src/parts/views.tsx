/** The views of a list: filters with a name. A reader keeps filters of its own in this browser. */
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useFilter } from './filter.tsx';

/** A filter of the list, and its name. */
export interface View {
  readonly name: string;
  readonly find: string;
}

const mostKept = 20;

function readOwn(key: string): readonly string[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(key) ?? '[]');
    return Array.isArray(stored) ? stored.filter((each): each is string => typeof each === 'string') : [];
  } catch {
    return [];
  }
}

export function Views({ list, known }: { list: string; known: readonly View[] }) {
  const key = `anneal-views-${list}`;
  const [own, setOwn] = useState(() => readOwn(key));
  const find = useFilter().trim();
  const keep = (next: readonly string[]): void => {
    localStorage.setItem(key, JSON.stringify(next));
    setOwn(next);
  };
  const isKnown = find === '' || own.includes(find) || known.some((view) => view.find === find);
  const chip = ({ name, find: wanted }: View) => (
    <Link
      className="chip"
      to="."
      search={(last) => ({ ...last, find: wanted === '' ? undefined : wanted })}
      activeOptions={{ includeSearch: true, explicitUndefined: true }}
      data-status={find === wanted ? 'active' : undefined}
      aria-current={find === wanted ? 'page' : false}
    >
      {name}
    </Link>
  );
  return (
    <ul className="views" aria-label="Views">
      {[{ name: 'All', find: '' }, ...known].map((view) => (
        <li key={view.name}>{chip(view)}</li>
      ))}
      {own.map((each) => (
        <li key={each}>
          {chip({ name: each, find: each })}
          <button
            type="button"
            className="chip"
            aria-label={`Forget the view ${each}`}
            onClick={() => keep(own.filter((one) => one !== each))}
          >
            ×
          </button>
        </li>
      ))}
      {!isKnown && (
        <li>
          <button type="button" className="chip" onClick={() => keep([...own, find].slice(-mostKept))}>
            + Keep this view
          </button>
        </li>
      )}
    </ul>
  );
}
