/** Short messages at the edge: what an action did, or why it failed. */
import { createContext, useCallback, useContext, useMemo, useState, type ReactNode } from 'react';
import { reasonOf } from './error-card.tsx';

interface Notice {
  readonly id: number;
  readonly text: string;
  readonly isError: boolean;
  readonly undo?: Undo | undefined;
}
/** The way back from an action, offered while its notice is shown. */
export interface Undo {
  readonly action: () => Promise<unknown>;
  readonly done: string;
}
interface Notify {
  /** Runs an action; says `done` when it succeeds and the reason when it fails. Resolves to whether it succeeded. */
  readonly attempt: (action: () => Promise<unknown>, done: string | (() => string), undo?: Undo) => Promise<boolean>;
}

const NotifyContext = createContext<Notify | undefined>(undefined);
const shownMs = 6000;
const undoMs = 12_000;
let last = 0;

export function useNotify(): Notify {
  const notify = useContext(NotifyContext);
  if (!notify) throw new Error('There are no notices here.');
  return notify;
}

export function Notices({ children }: { children: ReactNode }) {
  const [notices, setNotices] = useState<readonly Notice[]>([]);
  const remove = useCallback((id: number) => setNotices((all) => all.filter((one) => one.id !== id)), []);
  const notify = useMemo<Notify>(() => {
    const add = (notice: Omit<Notice, 'id'>): void => {
      last += 1;
      const id = last;
      setNotices((all) => [...all.slice(-3), { id, ...notice }]);
      // An error stays until the reader closes it.
      if (!notice.isError) setTimeout(() => remove(id), notice.undo ? undoMs : shownMs);
    };
    return {
      attempt: async (action, done, undo) => {
        try {
          await action();
          add({ text: typeof done === 'string' ? done : done(), isError: false, undo });
          return true;
        } catch (error) {
          add({ text: reasonOf(error), isError: true });
          return false;
        }
      },
    };
  }, [remove]);
  return (
    <NotifyContext value={notify}>
      {children}
      <div className="notice" role="status" aria-live="polite">
        {notices.map(({ id, text, isError, undo }) => (
          <div key={id} className="row">
            <span className={isError ? 'grow tone-failed' : 'grow'}>{text}</span>
            {undo && (
              <button
                className="button"
                type="button"
                onClick={() => {
                  remove(id);
                  void notify.attempt(undo.action, undo.done);
                }}
              >
                Undo
              </button>
            )}
            <button className="button" type="button" onClick={() => remove(id)} aria-label="Close this message">
              ×
            </button>
          </div>
        ))}
      </div>
    </NotifyContext>
  );
}
