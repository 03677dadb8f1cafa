/** The output of a config as it appears. Following stops when the reader scrolls up, and says so. */
import { useEffect, useRef, useState } from 'react';
import { reasonOf } from '../parts/error-card.tsx';
import { StatePill } from '../parts/state.tsx';
import { useSession } from '../session/session.tsx';

const mostShown = 500_000;
const flushMs = 100;

export function Output({ deployment }: { deployment: string }) {
  const { client } = useSession();
  const [text, setText] = useState('');
  const [state, setState] = useState('IN_PROGRESS');
  const [failure, setFailure] = useState('');
  const [isFollowing, follow] = useState(true);
  const view = useRef<HTMLPreElement>(null);

  useEffect(() => {
    const ending = new AbortController();
    const decoder = new TextDecoder();
    let fresh = '';
    let timer: ReturnType<typeof setTimeout> | undefined;
    const flush = (): void => {
      timer = undefined;
      const news = fresh;
      fresh = '';
      setText((last) => (last + news).slice(-mostShown));
    };
    const read = async (): Promise<void> => {
      for await (const entry of client.deployments.logs({ deployment, follow: true, signal: ending.signal })) {
        if (entry.kind === 'output') {
          fresh += decoder.decode(entry.bytes, { stream: true });
          timer ??= setTimeout(flush, flushMs);
        } else {
          setState(entry.status);
        }
      }
    };
    read().catch((error: unknown) => {
      if (!ending.signal.aborted) setFailure(reasonOf(error));
    });
    return () => {
      ending.abort();
      clearTimeout(timer);
    };
  }, [client, deployment]);

  useEffect(() => {
    if (isFollowing && view.current) view.current.scrollTop = view.current.scrollHeight;
  }, [text, isFollowing]);

  return (
    <section className="card" aria-label="Output">
      <header>
        <h2>Output</h2>
        <StatePill state={state} />
        <span className="more">
          {isFollowing ? (
            'following'
          ) : (
            <button type="button" className="button" onClick={() => follow(true)}>
              Follow again ↓
            </button>
          )}
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
          {text === '' ? 'No output yet.' : text}
        </pre>
      </div>
    </section>
  );
}
