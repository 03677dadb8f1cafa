/**
 * The registry of images: names, addresses and checksums. Machines fetch the content themselves and compare its checksum.
 *
 * I1 A name has one image, in every replica. An image never changes: remove it and add another.
 * I2 After each change the type of servers is announced again, so that templates with an unknown image are refused.
 */
import type { ImageView } from '@anneal/contracts/calls/provisioning.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import { DuplicateError, type Collection, type CollectionDefinition } from '@anneal/store/port.ts';

type ImageDocument = ImageView & { readonly version: number };

const imagesDefinition: CollectionDefinition = {
  name: 'provisioning_images',
  indexes: [{ fields: ['name'], unique: true }],
};
/** Every announcement of the type of servers carries all names. */
const mostImages = 2_000;

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

  static async open(options: ImagesOptions): Promise<Images> {
    return new Images(options, await options.context.store.collection<ImageDocument>(imagesDefinition));
  }

  private constructor(options: ImagesOptions, collection: Collection<ImageDocument>) {
    this.#options = options;
    this.#collection = collection;
  }

  /** The client chose the id, so a repeat answers the image that it added. @throws AnnealError AlreadyExists. */
  async add(image: Omit<ImageView, 'created_at'>): Promise<ImageView> {
    const known = await this.#collection.get(image.id);
    if (known) return view(known);
    if ((await this.#collection.count({})) >= mostImages) {
      throw new AnnealError('QuotaExceeded', `Cannot add image ${image.name}: there are ${mostImages} images already.`);
    }
    try {
      const added = await this.#collection.insert({ ...image, created_at: this.#options.context.now().toISOString() });
      await this.announce();
      return view(added);
    } catch (error) {
      if (!(error instanceof DuplicateError)) throw error;
      const again = await this.#collection.get(image.id);
      if (again) return view(again);
      throw new AnnealError(
        'AlreadyExists',
        `An image named ${image.name} already exists. Its content cannot change: remove it first, or choose another name.`,
        { cause: error },
      );
    }
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

  async remove(idOrName: string): Promise<void> {
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
