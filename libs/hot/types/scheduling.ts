/** Types that hold values or help tests. The scheduling service serves them itself. */
import type { PropertySchema, ResourceType } from '@anneal/contracts/resource-type.ts';
import { secondsFrom } from './schema.ts';
import { waitConditionTypes } from './wait-condition.ts';

const seconds = (description: string): PropertySchema => ({
  type: 'Number',
  update_allowed: true,
  description,
});

const characterClasses = ['lettersdigits', 'letters', 'lowercase', 'uppercase', 'digits', 'hexdigits', 'octdigits'];
const randomLength = { range: { min: 1, max: 512 } };

const value: ResourceType = {
  type: 'OS::Heat::Value',
  actions: ['adopt'],
  description: 'Stores a value, so that it is evaluated once and read in many places.',
  properties: {
    value: { type: 'Any', required: true, update_allowed: true, description: 'Value to store; may be null.' },
    type: {
      type: 'String',
      update_allowed: true,
      description: 'Type that the value is converted to.',
      constraints: [{ allowed_values: ['string', 'number', 'comma_delimited_list', 'json', 'boolean'] }],
    },
  },
  attributes: { value: { description: 'The value.' } },
  budget_seconds: 30,
};

const randomString: ResourceType = {
  type: 'OS::Heat::RandomString',
  actions: ['adopt'],
  description: 'A random string that stays the same until one of its properties changes.',
  properties: {
    length: { type: 'Integer', default: 32, constraints: [randomLength], description: 'Number of characters.' },
    character_classes: {
      type: 'List',
      description: 'Character classes, each with its minimum number of characters.',
      default: [{ class: 'lettersdigits', min: 1 }],
      schema: {
        '*': {
          type: 'Map',
          schema: {
            class: {
              type: 'String',
              default: 'lettersdigits',
              constraints: [{ allowed_values: characterClasses }],
              description: 'The class of the characters.',
            },
            min: {
              type: 'Integer',
              default: 1,
              constraints: [randomLength],
              description: 'At least this many characters are of the class.',
            },
          },
        },
      },
    },
    character_sequences: {
      type: 'List',
      description: 'Additional characters besides the classes.',
      schema: {
        '*': {
          type: 'Map',
          schema: {
            sequence: { type: 'String', required: true, description: 'The characters to choose from.' },
            min: {
              type: 'Integer',
              default: 1,
              constraints: [randomLength],
              description: 'At least this many characters are of the sequence.',
            },
          },
        },
      },
    },
    salt: { type: 'String', description: 'A change of this value creates a new string.' },
    sequence: {
      type: 'String',
      description: 'Older form with one character class.',
      constraints: [{ allowed_values: characterClasses }],
    },
  },
  attributes: { value: { type: 'String', description: 'The string.' } },
  reference: 'value',
  budget_seconds: 30,
};

const none: ResourceType = {
  type: 'OS::Heat::None',
  actions: ['adopt'],
  description: 'Accepts any property and does nothing; every attribute is null.',
  properties: {},
  attributes: {},
  open_properties: true,
  open_attributes: true,
  budget_seconds: 30,
};

const testResource: ResourceType = {
  type: 'OS::Heat::TestResource',
  actions: ['adopt'],
  description: 'Waits, fails or stores a value on command.',
  properties: {
    value: { type: 'String', default: 'test_string', update_allowed: true, description: 'The value to store.' },
    update_replace: {
      type: 'Boolean',
      default: false,
      update_allowed: true,
      description: 'Setting it, and a change of `value` while it is set, replaces the resource.',
    },
    update_replace_value: { type: 'String', description: 'A change replaces the resource.' },
    fail: { type: 'Boolean', default: false, update_allowed: true, description: 'Fail after the wait.' },
    wait_secs: { ...seconds('Seconds that each action takes; -1 never ends.'), default: 0 },
    action_wait_secs: {
      type: 'Map',
      update_allowed: true,
      description: 'Seconds that one action takes, instead of `wait_secs`.',
      schema: {
        create: seconds('Seconds of a create.'),
        update: seconds('Seconds of an update.'),
        delete: seconds('Seconds of a delete.'),
      },
    },
    attr_wait_secs: { ...seconds('Without effect: reading an attribute takes no time.'), default: 0 },
    constraint_prop_secs: { ...seconds('Without effect: validation does not wait.'), default: 0 },
    client_name: {
      type: 'String',
      update_allowed: true,
      default: '',
      description: 'Without effect: there is no client to poll.',
    },
    entity_name: {
      type: 'String',
      update_allowed: true,
      default: '',
      description: 'Without effect: there is no client to poll.',
    },
  },
  attributes: { output: { type: 'String', description: 'The stored value.' } },
};

const delay: ResourceType = {
  type: 'OS::Heat::Delay',
  actions: ['adopt', 'suspend', 'resume'],
  description: 'Waits for a time.',
  properties: {
    min_wait: {
      ...seconds('Minimum wait, in seconds.'),
      default: 0,
      constraints: secondsFrom(0),
    },
    max_jitter: {
      ...seconds('Maximum random addition to the wait.'),
      default: 0,
      constraints: secondsFrom(0),
    },
    jitter_multiplier: {
      ...seconds('Factor for the random addition.'),
      default: 1,
      constraints: [{ range: { min: 0 } }],
    },
    actions: {
      type: 'List',
      default: ['CREATE'],
      update_allowed: true,
      description: 'The actions that wait.',
      schema: {
        '*': {
          type: 'String',
          constraints: [{ allowed_values: ['CREATE', 'DELETE', 'SUSPEND', 'RESUME'] }],
        },
      },
    },
  },
  attributes: {},
};

/** The types of the scheduling service. */
export const schedulingTypes: ResourceType[] = [value, randomString, none, testResource, delay, ...waitConditionTypes];
