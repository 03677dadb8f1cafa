/** A new image: a file that the browser uploads, or the address from which machines fetch it. */
import { formatSize } from '@anneal/client/text/size.ts';
import { useEffect, useRef, useState, type FormEvent, type ReactNode } from 'react';
import { Same } from '../parts/same.tsx';
import { quoted } from '../parts/quoted.ts';
import { useChange } from '../parts/use-change.ts';
import { useSession } from '../session/session.tsx';
import { sendFile } from './send-file.ts';

const ways = [
  ['file', 'Upload a file'],
  ['url', 'Name an address'],
] as const;

export function AddImage({ close }: { close: () => void }) {
  const [way, choose] = useState<'file' | 'url'>('file');
  return (
    <div className="card body form">
      <fieldset className="row wrap">
        <legend className="hidden-label">Where the content comes from</legend>
        {ways.map(([each, label]) => (
          <label key={each} className="row">
            <input type="radio" name="way" checked={way === each} onChange={() => choose(each)} /> {label}
          </label>
        ))}
      </fieldset>
      {way === 'file' ? <UploadFile close={close} /> : <NameAddress close={close} />}
    </div>
  );
}

function Field(props: { id: string; label: ReactNode; children: (id: string) => ReactNode }) {
  return (
    <div>
      <label htmlFor={props.id}>{props.label}</label>
      {props.children(props.id)}
    </div>
  );
}

/** `debian-12.qcow2` as `debian-12`. */
const nameOfFile = (file: string): string => file.replace(/\.(qcow2|raw|img)$/i, '');

function UploadFile({ close }: { close: () => void }) {
  const { client } = useSession();
  const change = useChange('images');
  const [file, setFile] = useState<File>();
  const [typed, setName] = useState('');
  const [sent, setSent] = useState<number>();
  const ending = useRef<AbortController>(undefined);
  // A page that is left stops its upload.
  useEffect(() => () => ending.current?.abort(), []);
  const name = typed === '' && file ? nameOfFile(file.name) : typed;

  const upload = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (!file) return;
    const { signal } = (ending.current = new AbortController());
    setSent(0);
    const send = () => client.images.upload({ name, content: file, size: file.size, signal, over: sendFile(setSent) });
    if (await change(send, `The image ${name} is added.`)) close();
    else setSent(undefined);
  };
  return (
    <form className="form" onSubmit={(event) => void upload(event)}>
      <Field
        id="image-file"
        label={
          <>
            File <span className="dim">of a whole disk, raw or qcow2</span>
          </>
        }
      >
        {(id) => <input id={id} className="field" type="file" onChange={({ target }) => setFile(target.files?.[0])} />}
      </Field>
      <Field id="image-name" label="Name">
        {(id) => <input id={id} className="field" value={name} onChange={(event) => setName(event.target.value)} />}
      </Field>
      {sent !== undefined && file && <Progress sent={sent} size={file.size} />}
      <div className="row">
        <button type="submit" className="button first" disabled={!file || name === '' || sent !== undefined}>
          Upload{file ? ` ${formatSize(file.size)}` : ''}
        </button>
        {sent !== undefined && (
          <button type="button" className="button" onClick={() => ending.current?.abort()}>
            Stop
          </button>
        )}
      </div>
      <Same
        command={`anneal image add ${quoted(name || 'NAME')} --file ${quoted(file?.name ?? 'FILE')}`}
        request="POST /api/v1/images/upload"
      />
    </form>
  );
}

function Progress({ sent, size }: { sent: number; size: number }) {
  const percent = size === 0 ? 100 : Math.floor((100 * sent) / size);
  return (
    <div>
      <progress className="progress" aria-label="Uploaded" max={Math.max(size, 1)} value={sent} />
      <span className="dim" role="status">
        {sent < size
          ? `${formatSize(sent)} of ${formatSize(size)}, ${percent} %`
          : 'Everything is sent. The server checks and stores it …'}
      </span>
    </div>
  );
}

function NameAddress({ close }: { close: () => void }) {
  const { client } = useSession();
  const change = useChange('images');
  const [name, setName] = useState('');
  const [url, setUrl] = useState('');
  const [sha256, setSum] = useState('');
  const [size, setSize] = useState('');
  const add = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const image = { name, url, sha256: sha256.trim().toLowerCase(), size: Number(size) };
    if (await change(() => client.images.add(image), `The image ${name} is added.`)) close();
  };
  const fields = [
    { id: 'name', label: 'Name', value: name, set: setName, example: 'debian-12' },
    {
      id: 'url',
      label: 'Address',
      about: 'of the raw content',
      value: url,
      set: setUrl,
      example: 'http://10.0.0.1/debian-12.raw',
    },
    {
      id: 'sha256',
      label: 'Checksum',
      about: 'as sha256sum prints it',
      value: sha256,
      set: setSum,
      example: '9f86d081…',
    },
    { id: 'size', label: 'Size', about: 'in bytes', value: size, set: setSize, example: '3221225472' },
  ];
  const words = [`--url ${quoted(url || 'URL')}`, `--sha256 ${sha256.trim() || 'SUM'}`, `--size ${size || 'BYTES'}`];
  return (
    <form className="form" onSubmit={(event) => void add(event)}>
      {fields.map(({ id, label, about, value, set, example }) => (
        <Field
          key={id}
          id={`image-${id}`}
          label={
            <>
              {label} <span className="dim">{about}</span>
            </>
          }
        >
          {(field) => (
            <input
              id={field}
              className="field"
              required
              placeholder={example}
              inputMode={id === 'size' ? 'numeric' : 'text'}
              value={value}
              onChange={(event) => set(event.target.value)}
            />
          )}
        </Field>
      ))}
      <div className="row">
        <button type="submit" className="button first" disabled={fields.some(({ value }) => value.trim() === '')}>
          Add the image
        </button>
      </div>
      <Same command={`anneal image add ${quoted(name || 'NAME')} ${words.join(' ')}`} request="POST /api/v1/images" />
    </form>
  );
}
