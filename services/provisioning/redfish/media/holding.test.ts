import { describe, expect, it } from 'vitest';
import { holdingOf } from './holding.ts';

const secret = 'Mr0qj0xyNcPuVL2TqwKz059n6ureHB9CyGQzJ1LcTE4';
const url = `http://gateway.example:8470/boot/v1/${secret}/boot.iso`;
const drive = (Image: unknown, change: object = {}) => ({ Image, Inserted: true, ...change });

describe('a virtual drive', () => {
  it.each([
    [url],
    [url.replace('http:', 'https:')],
    [url.replaceAll('/', '%2F')],
    [encodeURIComponent(url)],
    [`${url}/`],
    [url.replace('gateway.example:8470', '192.0.2.7')],
    [`/boot/v1/${secret}/boot.iso`],
    [url.slice(0, 64)],
  ])('holds the wanted image when it shows %s', (shown) => {
    expect(holdingOf(drive(shown), { url })).toBe('same');
  });

  it.each([
    ['ours', drive('https://older/boot/v1/another-secret/boot.iso')],
    ['unclear', drive('boot.iso')],
    ['unclear', drive(null)],
    ['unclear', drive('')],
    ['unclear', drive('Virtual disc')],
    ['unclear', drive(undefined, { ImageName: 'boot.iso' })],
    ['foreign', drive('http://mirror/fedora/boot.iso')],
    ['foreign', drive('debian-13.iso')],
    ['foreign', drive('\\\\share\\images\\x')],
    ['foreign', drive(null, { ImageName: 'rescue.img' })],
    ['foreign', drive(null, { ConnectedVia: 'Applet' })],
    ['empty', drive(null, { Inserted: false })],
    ['empty', drive(null, { Inserted: undefined })],
    ['empty', drive(url, { ConnectedVia: 'NotConnected' })],
    ['same', drive(url, { Inserted: undefined })],
    ['same', drive(url, { Inserted: null, ConnectedVia: null })],
  ])('is %s in %j', (holding, body) => {
    expect(holdingOf(body, { url })).toBe(holding);
  });

  it('holds what this process has inserted, whatever it shows', () => {
    const shown = 'ISO_0001.img';
    expect(holdingOf(drive(shown), { url, inserted: { url, shown } })).toBe('same');
    expect(holdingOf(drive(shown), { url, inserted: { url: 'http://older', shown } })).toBe('ours');
    expect(holdingOf(drive('other.img'), { url, inserted: { url, shown } })).toBe('foreign');
  });
});
