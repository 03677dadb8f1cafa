/**
 * After an upgrade of the server, this page still runs the earlier console. It says so and offers to load the new one. It
 * never does so by itself, because a reader may have typed something.
 */
import { useRouterState } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { useLive } from './live.tsx';
import { isOtherBuild } from './served-build.ts';

/** A server may build its console after its start. */
const everyMs = 60_000;

/** Asks when the stream has opened again, when the tab is looked at, and from time to time. */
function useNewVersion(): boolean {
  const { isOpen } = useLive();
  const [isNew, setNew] = useState(false);
  useEffect(() => {
    if (isNew || !isOpen) return;
    const ask = (): void => {
      if (document.visibilityState === 'visible') void isOtherBuild().then((isOther) => isOther && setNew(true));
    };
    ask();
    const timer = setInterval(ask, everyMs);
    document.addEventListener('visibilitychange', ask);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', ask);
    };
  }, [isOpen, isNew]);
  return isNew;
}

/** Whether the reader has typed into the shown page. The text of a filter is in the address, and stays. */
function useTyped(): boolean {
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const [typedAt, setTypedAt] = useState<string>();
  useEffect(() => {
    const typed = ({ target }: Event): void => {
      if (target instanceof Element && target.closest('main') && !target.matches('[type="search"]')) setTypedAt(path);
    };
    document.addEventListener('input', typed);
    return () => document.removeEventListener('input', typed);
  }, [path]);
  return typedAt === path;
}

export function NewVersion() {
  const hasTyped = useTyped();
  if (!useNewVersion()) return null;
  return (
    <div className="banner row wrap" role="status">
      <span className="grow">
        A new version is here.
        {hasTyped && ' This page keeps what you typed until you reload it.'}
      </span>
      {hasTyped && (
        <a className="button" href={location.href} target="_blank" rel="noreferrer">
          Open it in another tab
        </a>
      )}
      <button className="button first" type="button" onClick={() => location.reload()}>
        Reload
      </button>
    </div>
  );
}
