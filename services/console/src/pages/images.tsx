/** The images that machines write to their disks. */
import type { ImageView } from '@anneal/contracts/calls/images.ts';
import { formatSize } from '@anneal/client/text/size.ts';
import { Link } from '@tanstack/react-router';
import { AddImage } from '../image/add-image.tsx';
import { useAsk } from '../live/ask.ts';
import { Answer } from '../parts/answer.tsx';
import { Empty } from '../parts/command.tsx';
import { Filter, useFilter } from '../parts/filter.tsx';
import { PanelToggle, usePanel } from '../parts/panel.tsx';
import { Same } from '../parts/same.tsx';
import { matching, Table, type Column } from '../parts/table.tsx';
import { Age } from '../parts/time.tsx';
import { useSession } from '../session/session.tsx';

const columns: readonly Column<ImageView>[] = [
  {
    name: 'Image',
    cell: ({ name }) => (
      <Link to="/images/$image" params={{ image: name }}>
        <b>{name}</b>
      </Link>
    ),
    sort: ({ name }) => name,
  },
  { name: 'Size', cell: ({ size }) => formatSize(size), sort: ({ size }) => size, isNumber: true },
  {
    name: 'Added',
    cell: ({ created_at: at }) => <Age since={at} />,
    sort: ({ created_at: at }) => at,
    isNumber: true,
  },
  {
    name: 'Machines fetch it from',
    cell: ({ url }) => <span className="dim">{url ?? 'this server'}</span>,
    sort: ({ url }) => url ?? '',
    isExtra: true,
  },
  { name: 'SHA-256', cell: ({ sha256 }) => <code className="dim">{sha256.slice(0, 12)}</code>, isExtra: true },
];

export function ImagesPage() {
  const { session } = useSession();
  const images = useAsk(['images'], (client) => client.images.list());
  const find = useFilter();
  const { open, show } = usePanel();
  return (
    <div className="stackwise">
      <div className="heading">
        <h1>Images</h1>
        <Filter what="images by name or address" />
        {session.operator && (
          <PanelToggle name="add" isFirst>
            Add an image …
          </PanelToggle>
        )}
      </div>
      {open === 'add' && <AddImage close={() => show(undefined)} />}
      <section className="card">
        <Answer of={images}>
          {(rows) => (
            <Table
              label="Images"
              rows={matching(rows, find, ({ name, url = 'this server', sha256 }) => [name, url, sha256])}
              columns={columns}
              keyOf={({ id }) => id}
              empty={
                <Empty command="anneal image add debian-12 --file debian-12-generic-amd64.qcow2">
                  {find === ''
                    ? 'No image yet. Servers of the lab need none; a real machine writes one to its disk. Add one:'
                    : 'No image matches the filter.'}
                </Empty>
              }
            />
          )}
        </Answer>
      </section>
      <Same command="anneal image list" request="GET /api/v1/images" />
    </div>
  );
}
