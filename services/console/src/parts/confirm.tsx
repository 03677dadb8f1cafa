/** Asks before an action that destroys. A large one must be confirmed by typing the name of the object, or a reason. */
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
  /** The question that a text must answer, instead of a word to type. */
  asks?: string;
  command: string;
  /** The button that changes nothing. Default: Cancel. */
  keep?: string;
  /** The same in the API. */
  request?: string;
  /** @param answer the text that answers the question. */
  onConfirm: (answer: string) => Promise<unknown>;
}) {
  const { name, asks, keep = 'Cancel' } = props;
  const [isOpen, setOpen] = useState(false);
  const [typed, setTyped] = useState('');
  const isReady = asks === undefined ? name === undefined || typed === name : typed.trim() !== '';
  const confirm = async () => {
    setOpen(false);
    setTyped('');
    await props.onConfirm(typed);
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
          {(name !== undefined || asks !== undefined) && (
            <label className="stackwise tight">
              {asks === undefined ? (
                <span>
                  Type <code>{name}</code> to confirm
                </span>
              ) : (
                <span>{asks}</span>
              )}
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
          <Ways command={props.command} request={props.request} />
          <div className="row">
            <button className="button danger first" type="button" disabled={!isReady} onClick={() => void confirm()}>
              {props.label}
            </button>
            <Dialog.Close asChild>
              <button className="button" type="button">
                {keep}
              </button>
            </Dialog.Close>
          </div>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function Ways({ command, request }: { command: string; request: string | undefined }) {
  return (
    <p className="dim wraps">
      The same in a terminal: <code>{command}</code>
      {request !== undefined && (
        <>
          {' '}
          and in the API: <code>{request}</code>
        </>
      )}
    </p>
  );
}
