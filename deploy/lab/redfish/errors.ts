/** Errors in Redfish's format: one extended message of the Base registry. */

export class RedfishError extends Error {
  override readonly name = 'RedfishError';
  readonly status: number;
  readonly key: string;
  readonly properties: readonly string[];
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    key: string,
    message: string,
    options: { properties?: readonly string[]; headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(message);
    this.status = status;
    this.key = key;
    this.properties = options.properties ?? [];
    this.headers = options.headers ?? {};
  }
}

export function errorBody(error: { key: string; message: string; properties?: readonly string[] }): object {
  const id = `Base.1.18.${error.key}`;
  const info = {
    '@odata.type': '#Message.v1_1_2.Message',
    MessageId: id,
    Message: error.message,
    MessageArgs: [],
    ...(error.properties?.length && { RelatedProperties: error.properties.map((name) => `#/${name}`) }),
    MessageSeverity: error.key === 'Success' ? 'OK' : 'Critical',
    Resolution: 'See the message.',
  };
  return { error: { code: id, message: error.message, '@Message.ExtendedInfo': [info] } };
}

export const notFound = (path: string): RedfishError =>
  new RedfishError(404, 'ResourceMissingAtURI', `The resource at the URI ${path} was not found.`);

export const wrongValue = (property: string, value: unknown, allowed: string): RedfishError =>
  new RedfishError(
    400,
    'PropertyValueNotInList',
    `The value ${JSON.stringify(value)} for the property ${property} is not accepted; accepted are ${allowed}.`,
    {
      properties: [property],
    },
  );
