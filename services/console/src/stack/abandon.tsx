/** Removes a stack and leaves its objects. The export that adopts them again is downloaded first. */
import { useNavigate } from '@tanstack/react-router';
import { Confirm } from '../parts/confirm.tsx';
import { download } from '../parts/download.ts';
import { useNotify } from '../parts/notices.tsx';
import { quoted } from '../parts/quoted.ts';
import { useSession } from '../session/session.tsx';

export function Abandon({ stack, id }: { stack: string; id: string }) {
  const { client, session } = useSession();
  const { attempt } = useNotify();
  const navigate = useNavigate();
  const abandon = async (): Promise<void> => {
    const file = `${stack}.json`;
    const keep = (data: object): void => download(file, `${JSON.stringify(data, null, 2)}\n`, 'application/json');
    const isDone = await attempt(async () => {
      // Before the stack is gone, because its answer can be lost on the way.
      keep(await client.actions.export({ stack }));
      await client.actions.abandon({ stack });
    }, `${stack} is abandoned; ${file} in your downloads adopts it again.`);
    if (isDone) await navigate({ to: '/stacks' });
  };
  return (
    <Confirm
      label="Abandon"
      title={`Abandon the stack ${stack}?`}
      name={stack}
      command={`anneal stack abandon ${quoted(stack)} --output-file ${quoted(`${stack}.json`)}`}
      request={`DELETE /orchestration/v1/${session.project.id}/stacks/${stack}/${id}/abandon`}
      onConfirm={abandon}
    >
      The stack is removed, and its servers and all its other objects stay as they are. No stack manages them until one
      adopts them. The file for that is downloaded first; it can contain secrets.
    </Confirm>
  );
}
