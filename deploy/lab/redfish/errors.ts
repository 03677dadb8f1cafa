/** Errors in Redfish's format: one extended message of the Base registry. */

/** HTTP status of each message of the Base registry that the lab answers with. */
const statuses = {
  ActionParameterMissing: 400,
  GeneralError: 400,
  InsufficientPrivilege: 403,
  MalformedJSON: 400,
  PropertyMissing: 400,
  PropertyNotWritable: 400,
  PropertyValueNotInList: 400,
  QueryParameterValueTypeError: 400,
  NoValidSession: 401,
  ResourceMissingAtURI: 404,
  OperationNotAllowed: 405,
  ResourceInUse: 409,
  PreconditionFailed: 412,
  PreconditionRequired: 428,
  EventSubscriptionLimitExceeded: 503,
  InternalError: 500,
  QueryNotSupportedOnResource: 501,
  ServiceTemporarilyUnavailable: 503,
  SessionLimitExceeded: 503,
} as const;

type ErrorKey = keyof typeof statuses;

/** A refusal, with the properties of the body that it is about. */
export class RedfishError extends Error {
  override readonly name = 'RedfishError';
  readonly status: number;
  readonly key: ErrorKey;
  readonly properties: readonly string[];
  readonly args: readonly string[];
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    key: ErrorKey,
    message: string,
    options: {
      properties?: readonly string[];
      args?: readonly string[];
      headers?: Readonly<Record<string, string>>;
    } = {},
  ) {
    super(message);
    this.status = statuses[key];
    this.key = key;
    this.properties = options.properties ?? [];
    this.args = options.args ?? [];
    this.headers = options.headers ?? {};
  }
}

export function errorBody(error: {
  key: string;
  message: string;
  properties?: readonly string[];
  args?: readonly string[];
}): object {
  const id = `Base.1.18.${error.key}`;
  const info = {
    '@odata.type': '#Message.v1_1_2.Message',
    MessageId: id,
    Message: error.message,
    MessageArgs: error.args ?? [],
    ...(error.properties?.length && { RelatedProperties: error.properties.map((name) => `#/${name}`) }),
    MessageSeverity: error.key === 'Success' ? 'OK' : 'Critical',
    Resolution: 'See the message.',
  };
  return { error: { code: id, message: error.message, '@Message.ExtendedInfo': [info] } };
}

export const notFound = (path: string): RedfishError =>
  new RedfishError('ResourceMissingAtURI', `The resource at the URI ${path} was not found.`);

export const wrongValue = (property: string, value: unknown, allowed: string): RedfishError =>
  new RedfishError(
    'PropertyValueNotInList',
    `The value ${JSON.stringify(value)} for the property ${property} is not accepted; accepted are ${allowed}.`,
    {
      properties: [property],
    },
  );
