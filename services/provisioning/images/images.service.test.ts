import { createTestContext, type TestContext } from '@anneal/runtime/testing.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Images } from './images.ts';

let context: TestContext;
let announced: string[][];
let images: Images;
beforeEach(async () => {
  context = await createTestContext({ name: 'provisioning' });
  announced = [];
  const announce = (names: readonly string[]): Promise<void> => {
    announced.push([...names]);
    return Promise.resolve();
  };
  images = await Images.open({ context, accepted: ['any', 'debian'], announce });
});
afterEach(() => context.dispose());

const image = (id: string, name: string) => ({ id, name, url: 'http://h/i', sha256: 'a'.repeat(64), size: 7 });

describe('the registry of images', () => {
  it('I2: announces the names after each change', async () => {
    await images.add(image('1', 'debian'));
    await images.add(image('2', 'alpine'));
    await images.remove('debian');
    expect(announced).toEqual([
      ['any', 'debian'],
      ['any', 'debian', 'alpine'],
      ['any', 'debian', 'alpine'],
    ]);
    expect((await images.list()).map(({ name }) => name)).toEqual(['alpine']);
    await images.remove('2');
    expect(announced.at(-1)).toEqual(['any', 'debian']);
  });

  it('I3: a draft is no image until its content is there', async () => {
    const draft = { id: '1', name: 'debian', format: 'qcow2' } as const;
    expect(await images.addDraft(draft)).toMatchObject(draft);
    expect(await images.addDraft(draft)).toMatchObject(draft);
    expect(await images.list()).toEqual([]);
    expect(await images.showDraft('1')).toMatchObject(draft);
    const { url: _, ...kept } = image('1', 'debian');
    await images.add(kept);
    await expect(images.showDraft('1')).rejects.toMatchObject({ code: 'NotFound' });
    await expect(images.addDraft({ ...draft, id: '2' })).rejects.toMatchObject({ code: 'AlreadyExists' });
    await images.addDraft({ ...draft, id: '3', name: 'alpine' });
    await images.remove('3');
    await expect(images.showDraft('3')).rejects.toMatchObject({ code: 'NotFound' });
  });

  it('I1: refuses a second image with the same name, and repeats a repeated addition', async () => {
    const first = await images.add(image('1', 'debian'));
    expect(await images.add(image('1', 'debian'))).toEqual(first);
    await expect(images.add(image('2', 'debian'))).rejects.toMatchObject({ code: 'AlreadyExists' });
    expect(await images.show('1')).toEqual(await images.show('debian'));
    await expect(images.show('nope')).rejects.toMatchObject({ code: 'NotFound' });
    await expect(images.remove('nope')).rejects.toMatchObject({ code: 'NotFound' });
  });
});
