/** One image: its content, where machines fetch it, and how a template names it. */
import type { ImageView } from '@anneal/contracts/calls/images.ts';
import { formatSize } from '@anneal/client/text/size.ts';
import { useNavigate, useParams } from '@tanstack/react-router';
import { useAsk } from '../live/ask.ts';
import { Answer } from '../parts/answer.tsx';
import { CopyCommand } from '../parts/command.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { quoted } from '../parts/quoted.ts';
import { Same } from '../parts/same.tsx';
import { Age } from '../parts/time.tsx';
import { useChange } from '../parts/use-change.ts';
import { useSession } from '../session/session.tsx';

export function ImagePage() {
  const { image: name } = useParams({ from: '/images/$image' });
  const image = useAsk(['images', name], (client) => client.images.show({ image: name }));
  return (
    <Answer of={image}>
      {(shown) => (
        <div className="stackwise">
          <Heading image={shown} />
          <About image={shown} />
          <Same command={`anneal image show ${quoted(shown.name)}`} request={`GET /api/v1/images/${shown.id}`} />
        </div>
      )}
    </Answer>
  );
}

function Heading({ image: { id, name, url } }: { image: ImageView }) {
  const { client, session } = useSession();
  const change = useChange('images');
  const navigate = useNavigate();
  const remove = async (): Promise<void> => {
    if (await change(() => client.images.remove({ image: id }), `The image ${name} is removed.`)) {
      await navigate({ to: '/images' });
    }
  };
  return (
    <div className="heading">
      <h1>{name}</h1>
      <div className="actions">
        {url === undefined && (
          <a className="button" href={`/api/v1/images/${id}/content`} download={`${name}.raw`}>
            Download
          </a>
        )}
        {session.operator && (
          <Confirm
            label="Remove"
            title={`Remove the image ${name}?`}
            name={name}
            command={`anneal image remove ${quoted(name)}`}
            request={`DELETE /api/v1/images/${id}`}
            onConfirm={remove}
          >
            No further machine can be written with it, and a server that is being written now may fail.{' '}
            {url === undefined ? 'The content is deleted from this server. ' : ''}
            Machines that have it on their disks keep it. This cannot be undone.
          </Confirm>
        )}
      </div>
    </div>
  );
}

function About({ image: { name, size, sha256, url, created_at: at } }: { image: ImageView }) {
  return (
    <section className="card" aria-label="About the image">
      <header>
        <h2>About it</h2>
      </header>
      <dl className="body facts">
        <dt>Size</dt>
        <dd>
          {formatSize(size)} <span className="dim">({size.toLocaleString()} bytes)</span>
        </dd>
        <dt>SHA-256</dt>
        <dd>
          <code>{sha256}</code>
        </dd>
        <dt>Machines fetch it from</dt>
        <dd>{url === undefined ? 'this server, which keeps the content' : <code>{url}</code>}</dd>
        <dt>Added</dt>
        <dd>
          <Age since={at} /> ago
        </dd>
        <dt>In a template</dt>
        <dd>
          <CopyCommand command={`image: ${JSON.stringify(name)}`} />
        </dd>
      </dl>
    </section>
  );
}
