/** The output of a config as it appears. */
import { useEffect, useState } from 'react';
import { CloseDetail } from '../parts/close-detail.tsx';
import { reasonOf } from '../parts/error-card.tsx';
import { Followed } from '../parts/followed.tsx';
import { StatePill } from '../parts/state.tsx';
import { useSession } from '../session/session.tsx';

const mostShown = 500_000;
const flushMs = 100;

export function Output({ deployment }: { deployment: string }) {
  const { client } = useSession();
  const [text, setText] = useState('');
  const [state, setState] = useState('IN_PROGRESS');
  const [failure, setFailure] = useState('');

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

  return (
    <Followed label="Output" text={text} empty="No output yet." failure={failure} end={<CloseDetail />}>
      <StatePill state={state} />
    </Followed>
  );
}
