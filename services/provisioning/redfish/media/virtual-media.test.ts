/** Decisions about virtual drives. The documents are written down; no controller is needed. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { describe, expect, it } from 'vitest';
import type { BmcChange } from '../conversation/form.ts';
import { ejectAll, insertImage } from './virtual-media.ts';

type Body = Record<string, unknown>;
const link = (path: string) => ({ '@odata.id': path });

describe('the virtual drive', () => {
  const url = 'http://gateway/boot/v1/secret/boot.iso';
  const older = 'http://gateway/boot/v1/older/boot.iso';
  const foreign = 'http://mirror/debian.iso';
  const refused = (why: string) => new AnnealError('BmcRefused', why);
  const insert = (client: ReturnType<typeof controller>, system: Body, more: object = {}) =>
    insertImage(client, system, { url, refused, inserted: new Map(), settleMs: 0, ...more });
  const empty = (client: ReturnType<typeof controller>, system: Body) =>
    ejectAll(client, system, { refused, inserted: new Map(), settleMs: 0 });
  const drive = (id: string, change: Body = {}): Body => ({
    ...link(`/media/${id}`),
    MediaTypes: ['CD'],
    Inserted: false,
    Image: null,
    Actions: {
      '#VirtualMedia.InsertMedia': { target: `/media/${id}/insert` },
      '#VirtualMedia.EjectMedia': { target: `/media/${id}/eject` },
    },
    ...change,
  });
  /**
   * A controller that keeps the image that it gets.
   * @param shows the document of a drive after an insertion; null: it stays as it is
   */
  const controller = (
    documents: Record<string, Body>,
    {
      shows = (Image) => ({ Inserted: true, Image }),
      refuses = [],
      isLost = false,
    }: {
      shows?: ((image: unknown) => Body) | null;
      refuses?: string[];
      /** Whether a refused change was carried out by an earlier request. */
      isLost?: boolean;
    } = {},
  ) => {
    const posted: string[] = [];
    return {
      posted,
      async get(path: string) {
        const body = documents[path];
        if (!body) throw refused(`${path} is missing`);
        return { status: 200, body } as never;
      },
      async carryOut({ method, path, body }: BmcChange) {
        posted.push(method === 'POST' ? path : `${method} ${path}`);
        const isRefused = refuses.includes(path);
        const [, , id = '', action] = path.split('/');
        const { Image } = body as { Image?: string | null };
        const isInsert = action === 'insert' || (method === 'PATCH' && Image !== null);
        const change = isInsert ? shows?.(Image) : shows && { Inserted: false, Image: null };
        if (!isRefused || isLost) Object.assign(documents[`/media/${id}`] ?? {}, change);
        if (isRefused) throw refused(`${path} is refused`);
        return { status: 204, body: {} } as never;
      },
    };
  };
  const media = (...found: Body[]): Record<string, Body> => ({
    '/media': { Members: found.map((each) => link(String(each['@odata.id']))) },
    ...Object.fromEntries(found.map((each) => [String(each['@odata.id']), each])),
  });
  const own = { VirtualMedia: link('/media') };

  it('of the system is used, else that of a manager; a drive for floppies is not', async () => {
    const floppy = drive('floppy', { MediaTypes: ['Floppy'] });
    const first = controller(media(floppy, drive('cd')));
    expect(await insert(first, own)).toBe('cd');
    expect(first.posted).toEqual(['/media/cd/insert']);
    const managers = { ...media(drive('cd')), '/enclosure': { VirtualMedia: link('/none') }, '/bmc': own };
    const second = controller(managers);
    await insert(second, { Links: { ManagedBy: [link('/enclosure'), link('/bmc')] } });
    expect(second.posted).toEqual(['/media/cd/insert']);
    const listed = {
      ...media(drive('cd')),
      '/redfish/v1/': { Managers: link('/managers') },
      '/managers': { Members: [link('/bmc')] },
      '/bmc': own,
    };
    expect(await insert(controller(listed), {})).toBe('cd');
    expect(await insert(controller(media(floppy)), own)).toBeUndefined();
  });

  it.each([
    ['a CD before a USB stick', [{ MediaTypes: ['USBStick'] }, { MediaTypes: ['CD', 'DVD'] }], 1],
    ['a CD before an unknown medium', [{ MediaTypes: ['Hologram'] }, { MediaTypes: ['DVD'] }], 1],
    ['an unlisted medium before a USB stick', [{ MediaTypes: ['USBStick'] }, { MediaTypes: null }], 1],
    ['a drive that takes images', [{ Actions: {}, Image: undefined }, {}], 1],
    ['a free drive before that of a person', [{ Inserted: true, Image: foreign }, {}], 1],
    [
      'a free USB stick before the CD of a person',
      [{ Inserted: true, Image: foreign }, { MediaTypes: ['USBStick'] }],
      1,
    ],
    ['a free drive before one that does not say', [{ Inserted: true, Image: null }, {}], 1],
    ['the first of equals', [{}, {}], 0],
  ])('is chosen among several: %s', async (_what, changes, wanted) => {
    const found = changes.map((change, at) => {
      const { Image, ...rest } = drive(String(at), change);
      return Image === undefined ? rest : { ...rest, Image };
    });
    const all = controller(media(...found));
    await insert(all, own);
    expect(all.posted).toEqual([`/media/${wanted}/insert`]);
  });

  it('as a USB stick is named, because the machine boots it otherwise', async () => {
    expect(await insert(controller(media(drive('a', { MediaTypes: ['USBStick'] }))), own)).toBe('usb');
  });

  it('M2: of a person is never emptied; when there is no other, the error names each with its image', async () => {
    const both = controller(
      media(drive('a', { Inserted: true, Image: foreign }), drive('b', { Inserted: true, ConnectedVia: 'Applet' })),
    );
    await expect(insert(both, own)).rejects.toThrow(
      `/media/a with ${foreign}, /media/b with an image. Eject one of them`,
    );
    await empty(both, own);
    expect(both.posted).toEqual([]);
  });

  it('M3: that refuses the image is followed by the next one, and the first refusal is the error of all', async () => {
    const one = controller(media(drive('a'), drive('b')), { refuses: ['/media/a/insert'] });
    expect(await insert(one, own)).toBe('cd');
    const none = controller(media(drive('a'), drive('b')), { refuses: ['/media/a/insert', '/media/b/insert'] });
    await expect(insert(none, own)).rejects.toThrow('/media/a/insert is refused');
    expect(none.posted).toEqual(['/media/a/insert', '/media/b/insert']);
  });

  it('M1: that refuses a change which is done already has done it', async () => {
    const late = controller(media(drive('a'), drive('b')), {
      refuses: ['/media/a/insert', '/media/a/eject'],
      isLost: true,
    });
    await insert(late, own);
    await empty(late, own);
    expect(late.posted).toEqual(['/media/a/insert', '/media/a/eject']);
  });

  it('of older firmware without actions is written, and emptied in the same way', async () => {
    const old = controller(media(drive('cd', { Actions: {} })));
    await insert(old, own);
    await empty(old, own);
    expect(old.posted).toEqual(['PATCH /media/cd', 'PATCH /media/cd']);
  });

  it('keeps the same image, and loses that of another boot first', async () => {
    const same = controller(media(drive('cd', { Inserted: true, Image: url })));
    await insert(same, own);
    expect(same.posted).toEqual([]);
    const other = controller(media(drive('cd', { Inserted: true, Image: older })));
    await insert(other, own);
    expect(other.posted).toEqual(['/media/cd/eject', '/media/cd/insert']);
    const disconnected = controller(media(drive('cd', { Inserted: true, Image: url, ConnectedVia: 'NotConnected' })));
    await insert(disconnected, own);
    expect(disconnected.posted).toEqual(['/media/cd/insert']);
  });

  it.each([
    [{ Inserted: true, Image: 'boot.iso' }],
    [{ Inserted: true, Image: null }],
    [{ Inserted: true, Image: url.replace('http:', 'https:') }],
    [{ Inserted: true, Image: encodeURIComponent(url) }],
    [{ Inserted: true, Image: 'ISO_0001.img' }],
    [{ Inserted: null, Image: 'boot.iso' }],
  ])('M1: that shows %j after the insertion holds the image, also for the next turn, and is emptied', async (shown) => {
    const client = controller(media(drive('cd')), { shows: () => shown });
    const inserted = new Map();
    const options = { refused, inserted, settleMs: 0 };
    for (const _ of [1, 2]) expect(await insert(client, own, { inserted })).toBe('cd');
    expect(client.posted).toEqual(['/media/cd/insert']);
    await ejectAll(client, own, options);
    expect(client.posted).toEqual(['/media/cd/insert', '/media/cd/eject']);
  });

  it('that reports success and stays as it is is refused', async () => {
    await expect(insert(controller(media(drive('cd')), { shows: null }), own)).rejects.toThrow(
      'it accepted the image but the drive contains null',
    );
    const full = controller(media(drive('cd', { Inserted: true, Image: url })), { shows: null });
    await expect(empty(full, own)).rejects.toThrow('/media/cd still contains an image');
  });

  it('is emptied wherever it holds an image of Anneal, else where it may', async () => {
    const found = () => [
      drive('ours', { Inserted: true, Image: older }),
      drive('unclear', { Inserted: true, Image: null }),
      drive('foreign', { Inserted: true, Image: foreign }),
      drive('none'),
    ];
    const all = controller(media(...found()));
    await empty(all, own);
    expect(all.posted).toEqual(['/media/ours/eject']);
    const some = controller(media(...found().slice(1)));
    await empty(some, own);
    expect(some.posted).toEqual(['/media/unclear/eject']);
  });
});
