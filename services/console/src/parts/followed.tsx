/** A text that grows. Following stops when the reader scrolls up, and says so. */
import { useEffect, useRef, useState, type ReactNode } from 'react';

export function Followed(props: {
  label: string;
  text: string;
  empty: string;
  failure: string;
  /** Beside the title: a state, buttons. */
  children?: ReactNode;
  /** At the end of the title. */
  end?: ReactNode;
}) {
  const { label, text, empty, failure, children, end } = props;
  const [isFollowing, follow] = useState(true);
  const view = useRef<HTMLPreElement>(null);
  useEffect(() => {
    if (isFollowing && view.current) view.current.scrollTop = view.current.scrollHeight;
  }, [text, isFollowing]);
  return (
    <section className="card" aria-label={label}>
      <header>
        <h2>{label}</h2>
        {children}
        <span className="more row wrap">
          {isFollowing ? (
            'following'
          ) : (
            <button type="button" className="button" onClick={() => follow(true)}>
              Follow again ↓
            </button>
          )}
          {end}
        </span>
      </header>
      <div className="body">
        {failure !== '' && <p className="tone-failed">{failure}</p>}
        <pre
          className="output"
          ref={view}
          tabIndex={0}
          onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) =>
            follow(scrollTop + clientHeight > scrollHeight - 24)
          }
        >
          {text === '' ? empty : text}
        </pre>
      </div>
    </section>
  );
}
