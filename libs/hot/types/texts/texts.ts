/**
 * The meaning of types whose schemas are Heat's. The schemas stay short beside Heat's own, and one text serves every type
 * that has the property.
 */
import type { PropertySchema, ResourceType } from '@anneal/contracts/resource-type.ts';
import { alarmTexts } from './alarms.ts';
import { groupTexts } from './groups.ts';
import { identityTexts } from './identity.ts';
import type { TypeTexts } from './type-texts.ts';
import { workflowTexts } from './workflows.ts';

/** Types with few texts. */
const more: Readonly<Record<string, TypeTexts>> = {
  'OS::Heat::RandomString': {
    'character_classes.class': 'The class of the characters.',
    'character_classes.min': 'At least this many characters are of the class.',
    'character_sequences.sequence': 'The characters to choose from.',
    'character_sequences.min': 'At least this many characters are of the sequence.',
  },
  'OS::Heat::SoftwareComponent': { 'configs.actions': 'The actions of the deployment that run the config.' },
  'AWS::CloudFormation::WaitCondition': { '': 'Waits until its handle has received enough signals.' },
};
const inputs: TypeTexts = {
  'inputs.description': 'What the input is for.',
  'inputs.type': 'The type of the value.',
  'outputs.description': 'What the output is for.',
  'outputs.type': 'The type of the value.',
};
const configs: ReadonlySet<string> = new Set([
  'OS::Heat::SoftwareConfig',
  'OS::Heat::SoftwareComponent',
  'OS::Heat::StructuredConfig',
  'OS::Heat::OrderedConfig',
]);

const textsOf = (type: string): TypeTexts => ({
  ...groupTexts[type],
  ...workflowTexts[type],
  ...identityTexts[type],
  ...alarmTexts(type),
  ...more[type],
  ...(configs.has(type) && inputs),
});

function explainedProperties(properties: ResourceType['properties'], texts: TypeTexts, path: string) {
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]): [string, PropertySchema] => {
      const here = name === '*' ? path : path === '' ? name : `${path}.${name}`;
      const description = property.description ?? (name === '*' ? undefined : texts[here]);
      return [
        name,
        {
          ...property,
          ...(description !== undefined && { description }),
          ...(property.schema && { schema: explainedProperties(property.schema, texts, here) }),
        },
      ];
    }),
  );
}

/** The types with the meaning of each part that their schemas do not explain themselves. */
export const explained = (types: readonly ResourceType[]): ResourceType[] => types.map(explainedType);

function explainedType(type: ResourceType): ResourceType {
  const texts = textsOf(type.type);
  const attributes = Object.entries(type.attributes).map(([name, attribute]) => {
    const text = texts[`@${name}`];
    return [
      name,
      attribute.description === undefined && text !== undefined ? { ...attribute, description: text } : attribute,
    ] as const;
  });
  const description = type.description ?? texts[''];
  return {
    ...type,
    ...(description !== undefined && { description }),
    properties: explainedProperties(type.properties, texts, ''),
    attributes: Object.fromEntries(attributes),
  };
}
