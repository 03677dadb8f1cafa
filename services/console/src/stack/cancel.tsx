/** The cancel of what a stack does, with what goes on all the same. */
import { cancelOutlook, outlookText } from '@anneal/client/cancel-outlook.ts';
import { useAsk } from '../live/ask.ts';
import { Answer } from '../parts/answer.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { useNotify } from '../parts/notices.tsx';
import { useSession } from '../session/session.tsx';

export function Cancel({ stack, rollback }: { stack: string; rollback: boolean }) {
  const { client } = useSession();
  const { attempt } = useNotify();
  const action = { kind: 'cancel', rollback } as const;
  return (
    <Confirm
      label="Cancel"
      keep="Let it run"
      title={`Cancel the action in progress of ${stack}?`}
      command={`anneal stack cancel ${stack}${rollback ? '' : ' --no-rollback'}`}
      request={`POST /api/v1/stacks/${encodeURIComponent(stack)}/actions`}
      onConfirm={() => attempt(() => client.actions.act({ stack, action }), `Cancel of ${stack} has started.`)}
    >
      <p>{rollback ? 'The stack goes back to what it was before the update.' : 'The stack stays as it is now.'}</p>
      <Outlook stack={stack} />
    </Confirm>
  );
}

function Outlook({ stack }: { stack: string }) {
  const outlook = useAsk(['stack', stack, 'cancel'], (client) => cancelOutlook(client, stack), 2000);
  return <Answer of={outlook}>{(found) => outlookText(found).map((line) => <p key={line}>{line}</p>)}</Answer>;
}
