/**
 * The registry of images: names, addresses and checksums. Machines fetch the content themselves and compare its checksum.
 * The gateway keeps the content of an image without an address.
 *
 * I1 A name has one image, in every replica. An image never changes: remove it and add another.
 * I2 After each change the type of servers is announced again, so that templates with an unknown image are refused.
 * I3 A draft is no image: no server can use it. It becomes one with its content, or is forgotten after a day.
 */
import type { ImageDraft, ImageView } from '@anneal/contracts/calls/images.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import { DuplicateError, type Collection, type CollectionDefinition } from '@anneal/store/port.ts';

type ImageDocument = ImageView & { readonly version: number };
type DraftDocument = ImageDraft & { readonly version: number };

const imagesDefinition: CollectionDefinition = {
  name: 'provisioning_images',
  indexes: [{ fields: ['name'], unique: true }],
};
const draftsDefinition: CollectionDefinition = {
  name: 'provisioning_image_drafts',
  indexes: [{ fields: ['created_at'] }],
};
/** Every announcement of the type of servers carries all names. */
const mostImages = 2_000;
const draftMs = 24 * 3_600_000;

export interface ImagesOptions {
  readonly context: ServiceContext;
  /** Names that servers may use without an image: for machines that install themselves. */
  readonly accepted: readonly string[];
  /** Announces the names that templates may use. */
  readonly announce: (names: readonly string[]) => Promise<void>;
}

export class Images {
  readonly #options: ImagesOptions;
  readonly #collection: Collection<ImageDocument>;
  readonly #drafts: Collection<DraftDocument>;

  static async open(options: ImagesOptions): Promise<Images> {
    const { store } = options.context;
    const images = await store.collection<ImageDocument>(imagesDefinition);
    return new Images(options, { images, drafts: await store.collection<DraftDocument>(draftsDefinition) });
  }

  private constructor(
    options: ImagesOptions,
    { images, drafts }: { images: Collection<ImageDocument>; drafts: Collection<DraftDocument> },
  ) {
    this.#options = options;
    this.#collection = images;
    this.#drafts = drafts;
  }

  /** The client chose the id, so a repeat answers the image that it added. @throws AnnealError AlreadyExists. */
  async add(image: Omit<ImageView, 'created_at'>): Promise<ImageView> {
    const known = await this.#collection.get(image.id);
    if (known) return view(known);
    await this.#refuseMore(image.name);
    try {
      const added = await this.#collection.insert({ ...image, created_at: this.#now() });
      await this.#drafts.remove(image.id);
      await this.announce();
      return view(added);
    } catch (error) {
      if (!(error instanceof DuplicateError)) throw error;
      const again = await this.#collection.get(image.id);
      if (again) return view(again);
      throw taken(image.name, error);
    }
  }

  /** I3. The client chose the id, so a repeat answers the same. @throws AnnealError AlreadyExists, QuotaExceeded */
  async addDraft(draft: Omit<ImageDraft, 'created_at'>): Promise<ImageDraft> {
    const old = await this.#drafts.find({ where: { created_at: { lt: this.#now(-draftMs) } }, limit: mostImages });
    await this.#drafts.bulk(old.map(({ id }) => ({ kind: 'remove', id })));
    if (await this.find(draft.name)) throw taken(draft.name);
    await this.#refuseMore(draft.name);
    try {
      return draftView(await this.#drafts.insert({ ...draft, created_at: this.#now() }));
    } catch (error) {
      const known = error instanceof DuplicateError ? await this.#drafts.get(draft.id) : undefined;
      if (known) return draftView(known);
      throw error;
    }
  }

  /** @throws AnnealError NotFound */
  async showDraft(id: string): Promise<ImageDraft> {
    const draft = await this.#drafts.get(id);
    if (!draft) throw new AnnealError('NotFound', `No image with id ${id} waits for its content.`);
    return draftView(draft);
  }

  /** @throws AnnealError QuotaExceeded */
  async #refuseMore(name: string): Promise<void> {
    const count = (await this.#collection.count({})) + (await this.#drafts.count({}));
    if (count < mostImages) return;
    throw new AnnealError('QuotaExceeded', `Cannot add image ${name}: there are ${mostImages} images already.`);
  }

  #now(plus = 0): string {
    return new Date(this.#options.context.now().getTime() + plus).toISOString();
  }

  async list(): Promise<ImageView[]> {
    return (await this.#collection.find({ where: {}, orderBy: ['name'], limit: mostImages })).map(view);
  }

  /** @throws AnnealError NotFound */
  async show(idOrName: string): Promise<ImageView> {
    const image = (await this.#collection.get(idOrName)) ?? (await this.find(idOrName));
    if (!image) throw new AnnealError('NotFound', `There is no image with id or name ${idOrName}.`);
    return view(image);
  }

  async find(name: string): Promise<ImageView | undefined> {
    return (await this.#collection.find({ where: { name }, limit: 1 }))[0];
  }

  /** The origin of the server from which machines fetch the image. Undefined for an image without content. */
  async origin(name: string): Promise<string | undefined> {
    const image = name === '' ? undefined : await this.find(name);
    return image && new URL(image.url ?? this.#options.context.gatewayUrl).origin;
  }

  /** Removes an image, or a draft by its id. @throws AnnealError NotFound */
  async remove(idOrName: string): Promise<void> {
    if (await this.#drafts.remove(idOrName)) return;
    const { id } = await this.show(idOrName);
    await this.#collection.remove(id);
    await this.announce();
  }

  /** The names that a server may use. */
  async names(): Promise<string[]> {
    const known = await this.#collection.find({ where: {}, orderBy: ['name'], limit: mostImages });
    return [...new Set([...this.#options.accepted, ...known.map(({ name }) => name)])];
  }

  /** I2 */
  async announce(): Promise<void> {
    await this.#options.announce(await this.names());
  }
}

const view = ({ version: _version, ...image }: ImageView & { version?: number }): ImageView => image;
const draftView = ({ version: _version, ...draft }: DraftDocument): ImageDraft => draft;

const taken = (name: string, cause?: unknown): AnnealError =>
  new AnnealError(
    'AlreadyExists',
    `An image named ${name} already exists. Its content cannot change: remove it first, or choose another name.`,
    { cause },
  );
