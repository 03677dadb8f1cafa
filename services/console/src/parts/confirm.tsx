/** Asks before an action that destroys. A large one must be confirmed by typing the name of the object. */
import { Dialog } from 'radix-ui';
import { useState, type ReactNode } from 'react';

export function Confirm(props: {
  /** The label of the button that opens the question. */
  label: string;
  title: string;
  /** What is lost. */
  children: ReactNode;
  /** The word to type. */
  name?: string;
  command: string;
  /** The same in the API. */
  request?: string;
  onConfirm: () => Promise<unknown>;
}) {
  const [isOpen, setOpen] = useState(false);
  const [typed, setTyped] = useState('');
  const isReady = props.name === undefined || typed === props.name;
  const confirm = async () => {
    setOpen(false);
    setTyped('');
    await props.onConfirm();
  };
  return (
    <Dialog.Root
      open={isOpen}
      onOpenChange={(next) => {
        // A name that was typed before a Cancel confirms nothing later.
        setTyped('');
        setOpen(next);
      }}
    >
      <Dialog.Trigger asChild>
        <button className="button danger" type="button">
          {props.label}
        </button>
      </Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Overlay className="veil" />
        <Dialog.Content className="dialog stackwise">
          <Dialog.Title asChild>
            <h2>{props.title}</h2>
          </Dialog.Title>
          <Dialog.Description asChild>
            <div>{props.children}</div>
          </Dialog.Description>
          {props.name !== undefined && (
            <label className="stackwise tight">
              <span>
                Type <code>{props.name}</code> to confirm
              </span>
              <input
                className="field"
                autoComplete="off"
                spellCheck={false}
                value={typed}
                onChange={(event) => setTyped(event.target.value)}
                onKeyDown={(event) => {
                  if (event.key === 'Enter' && isReady) void confirm();
                }}
              />
            </label>
          )}
          <p className="dim wraps">
            The same in a terminal: <code>{props.command}</code>
            {props.request !== undefined && (
              <>
                {' '}
                and in the API: <code>{props.request}</code>
              </>
            )}
          </p>
          <div className="row">
            <button className="button danger first" type="button" disabled={!isReady} onClick={() => void confirm()}>
              {props.label}
            </button>
            <Dialog.Close asChild>
              <button className="button" type="button">
                Cancel
              </button>
            </Dialog.Close>
          </div>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
