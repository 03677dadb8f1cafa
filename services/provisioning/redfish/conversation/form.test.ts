import { describe, expect, it } from 'vitest';
import { RequestForm, type Form, type ActionParameter } from './form.ts';

const known = {
  MediaType: ['CD', 'DVD', 'USBStick'],
  Inserted: [true],
  WriteProtected: [true],
  TransferProtocolType: ['HTTPS'],
};
const given = { Image: 'https://gateway/boot.iso' };
const formOf = (change: Partial<Form> = {}) => new RequestForm(given, { known, ...change });
const refusal = (...infos: object[]) => ({ error: { message: 'See the messages.', '@Message.ExtendedInfo': infos } });
const parameter = (name: string, change: Partial<ActionParameter> = {}): ActionParameter => ({
  name,
  isRequired: true,
  allowed: undefined,
  ...change,
});

describe('the form of a request', () => {
  it('F1: has what the description requires, in the words that it allows', () => {
    const parameters = [
      parameter('Image'),
      parameter('MediaType', { allowed: ['Floppy', 'Dvd'] }),
      parameter('Inserted', { isRequired: false }),
      parameter('UserName'),
      parameter('TransferProtocolType', { allowed: ['CIFS', 'NFS'] }),
    ];
    expect(formOf({ parameters }).body).toEqual({ ...given, MediaType: 'Dvd' });
  });

  it.each([
    [{ MessageId: 'Base.1.8.ActionParameterMissing', MessageArgs: ['InsertMedia', 'MediaType'] }],
    [{ MessageId: 'Base.1.18.PropertyMissing', MessageArgs: ['MediaType'] }],
    [{ MessageId: 'Base.1.0.CreateFailedMissingReqProperties', MessageArgs: ['MediaType'] }],
    [{ Message: 'Something is missing.', RelatedProperties: ['#/MediaType'] }],
    [{ Message: 'The property MediaType is a required property and must be included in the request.' }],
    [{ Message: 'MediaType?' }],
  ])('F2: gets the property that the refusal names: %j', (info) => {
    const form = formOf();
    expect(form.reform(refusal(info))).toEqual({ kind: 'send' });
    expect(form.body).toEqual({ ...given, MediaType: 'CD' });
  });

  it('F2: gets several properties, at once or one after the other, and those of a refusal without messages', () => {
    const form = formOf();
    form.reform(refusal({ Message: 'Inserted and WriteProtected are missing.' }));
    expect(form.body).toEqual({ ...given, Inserted: true, WriteProtected: true });
    form.reform({ error: { message: 'TransferProtocolType is required.' } });
    expect(form.body).toMatchObject({ TransferProtocolType: 'HTTPS' });
  });

  it('F2: gets another value of a property that was added, and then gives it up by name', () => {
    const form = formOf();
    form.reform(refusal({ MessageArgs: ['MediaType'] }));
    const wrong = refusal({ MessageId: 'Base.1.8.ActionParameterValueNotInList', MessageArgs: ['CD', 'MediaType'] });
    expect(form.reform(wrong)).toEqual({ kind: 'send' });
    expect(form.body).toMatchObject({ MediaType: 'DVD' });
    expect(form.reform(wrong)).toEqual({ kind: 'send' });
    expect(form.reform(wrong)).toEqual({ kind: 'lacks', names: ['MediaType'] });
  });

  it('F2: loses an optional property that the controller does not know, and no other one', () => {
    const form = new RequestForm({ ...given, Inserted: true }, { known: {}, optional: ['Inserted'] });
    const strange = (name: string) => refusal({ MessageId: 'Base.1.8.PropertyNotWritable', MessageArgs: [name] });
    expect(form.reform(strange('Inserted'))).toEqual({ kind: 'send' });
    expect(form.body).toEqual(given);
    expect(form.reform(strange('Image'))).toEqual({ kind: 'refused' });
  });

  it('F3: invents no value, and names the property that it lacks', () => {
    const missing = refusal({ MessageId: 'Base.1.8.ActionParameterMissing', MessageArgs: ['InsertMedia', 'UserName'] });
    expect(formOf().reform(missing)).toEqual({ kind: 'lacks', names: ['UserName'] });
    const text = { error: { message: 'The parameter "VendorKey" is required.' } };
    expect(formOf().reform(text)).toEqual({ kind: 'lacks', names: ['VendorKey'] });
  });

  it('F2: has everything that is known after a refusal without a reason, once', () => {
    const form = formOf();
    expect(form.reform({})).toEqual({ kind: 'send' });
    expect(form.body).toEqual({
      ...given,
      MediaType: 'CD',
      Inserted: true,
      WriteProtected: true,
      TransferProtocolType: 'HTTPS',
    });
    expect(form.reform({})).toEqual({ kind: 'refused' });
    expect(new RequestForm({}, { known: {} }).reform({})).toEqual({ kind: 'refused' });
  });

  it('is not the reason of a refusal that is about a value which was given', () => {
    expect(formOf().reform(refusal({ Message: 'The Image cannot be reached.' }))).toEqual({ kind: 'refused' });
  });
});
