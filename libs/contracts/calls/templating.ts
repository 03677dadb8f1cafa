/** Questions to the templating service. */
import { z } from 'zod';
import { call, event } from '../define.ts';
import { mistakeSchema } from '../failure.ts';
import { json, jsonObject } from '../json.ts';
import { planNestedSchema, planRollingSchema } from '../plan.ts';
import { resourceTypeSchema } from '../resource-type.ts';

/** A template as clients send it: text, or already parsed. */
const document = z.union([z.string(), jsonObject]);

/** A template with everything that its compilation needs. */
export const compileQuestionSchema = z.object({
  project: z.string(),
  stack_name: z.string(),
  stack_id: z.string().meta({ description: 'Empty when the stack is not stored (validate, preview).' }),
  template: document.optional(),
  environments: z.array(document).meta({ description: 'Merged in order.' }),
  files: z.record(z.string(), z.string()),
  parameters: z
    .record(z.string(), json)
    .meta({ description: 'Values for this stack; they override those of the environments.' }),
  existing: z
    .object({ template: z.string(), environment: z.string(), files: z.string(), clear_parameters: z.array(z.string()) })
    .optional()
    .meta({
      description:
        'PATCH: the base of the change. Template, environment, files and parameters that are not given are taken from it.',
    }),
  previous_plan: z
    .string()
    .optional()
    .meta({ description: 'The plan before, for rules that compare with it (immutable parameters).' }),
});
export type CompileQuestion = z.infer<typeof compileQuestionSchema>;

/** The compiled template, as hashes of contents in the store. */
export const compileAnswerSchema = z.object({
  plan: z.string().meta({ description: 'Content hashes in the store.' }),
  template: z.string(),
  environment: z.string(),
  files: z.string(),
  sources: z.string().optional().meta({ description: 'See the plan. Absent when it has no nested stacks.' }),
  description: z.string(),
  resource_count: z.number().int(),
  warnings: z
    .array(mistakeSchema)
    .optional()
    .meta({ description: 'Accepted parts of the template that are probably mistakes.' }),
  operator_resources: z.record(z.string(), z.string()).optional().meta({
    description:
      'The resources of the stack itself that only operators may change, and their types. Absent: there are none.',
  }),
});
export type CompileAnswer = z.infer<typeof compileAnswerSchema>;

/** Refused with InvalidTemplate and every mistake. */
export const templateCompile = call('template.compile', 'Compile a template to a plan and store it.', {
  question: compileQuestionSchema,
  answer: compileAnswerSchema,
});

/** A nested template with everything that its compilation needs. */
export const compileNestedQuestionSchema = z.object({
  project: z.string(),
  stack_id: z.string().meta({ description: 'The id of the nested stack.' }),
  stack_name: z.string(),
  environment: z.string().meta({ description: 'Content hashes, from the parent stack.' }),
  files: z.string(),
  resource: z.string().meta({ description: 'The resource that it represents.' }),
  type: z.string(),
  kind: planNestedSchema.shape.kind
    .optional()
    .meta({ description: 'Absent in a message of an older version: then the type decides.' }),
  template: jsonObject.optional().meta({
    description:
      'For a group: the template of its members, made from its properties. Absent: the registry names the file.',
  }),
  rolling: planRollingSchema.optional().meta({ description: 'For a group: copied into the plan.' }),
  properties: jsonObject.meta({
    description: 'The resolved properties of the resource; sealed values become hidden parameters.',
  }),
  previous_plan: z
    .string()
    .optional()
    .meta({ description: 'Its current plan, for rules that compare with it; absent when the stack is new.' }),
  unknown: z.array(z.string()).optional().meta({
    description: 'In a preview: parameters whose value is not known yet. Expressions that read them stay open.',
  }),
  facade: z
    .object({ metadata: json, deletion_policy: z.string(), update_policy: json })
    .meta({ description: 'The data that `resource_facade` reads.' }),
  depth: z.number().int().positive().meta({ description: 'Its depth; the root is 0.' }),
  resources_outside: z
    .number()
    .int()
    .nonnegative()
    .meta({ description: 'The number of resources of the tree that are outside it.' }),
});
export type CompileNestedQuestion = z.infer<typeof compileNestedQuestionSchema>;

/** Refused with InvalidTemplate and every mistake. */
export const templateCompileNested = call(
  'template.compile_nested',
  'Compile the template of a nested stack when the properties of its resource are known.',
  { question: compileNestedQuestionSchema, answer: compileAnswerSchema },
);

const validateQuestionSchema = compileQuestionSchema.extend({
  show_nested: z.boolean().optional().meta({ description: 'Also describe the parameters of the nested stacks.' }),
});
export type ValidateQuestion = z.infer<typeof validateQuestionSchema>;

export const templateValidate = call(
  'template.validate',
  'Validate a template; the answer has the form of Heat’s validate.',
  {
    question: validateQuestionSchema,
    answer: jsonObject.meta({
      description: "Heat's form: Description, Parameters, ParameterGroups, NestedParameters, Environment.",
    }),
  },
);

const outlineSchema = z.object({
  levels: z.array(z.array(z.object({ name: z.string(), type: z.string() }))).meta({
    description: 'The resources of a level can be created in parallel once the levels before it are complete.',
  }),
  critical_path: z.array(z.string()).meta({ description: 'The longest chain of requirements.' }),
  resources: z.number().int(),
  edges: z.array(z.object({ from: z.string(), to: z.string() })),
});

/** The mistakes of a template. */
export const templateCheckAnswerSchema = z.object({
  mistakes: z
    .array(mistakeSchema)
    .meta({ description: 'Every mistake, with its line and column. Empty: it compiles.' }),
  warnings: z.array(mistakeSchema),
  description: z.string(),
  parameters: z.record(z.string(), jsonObject).meta({ description: "Each parameter in the form of Heat's validate." }),
  parameter_groups: json.meta({ description: 'As written; null without groups.' }),
  outline: outlineSchema
    .nullable()
    .meta({ description: 'The order of work of the root stack; null when there are mistakes.' }),
});
/** The facts about a template that an editor shows. */
export type TemplateCheck = z.infer<typeof templateCheckAnswerSchema>;

export const templateCheck = call(
  'template.check',
  'Check a template while it is written: its mistakes, its parameters and its order of work. Mistakes refuse nothing.',
  { question: compileQuestionSchema, answer: templateCheckAnswerSchema },
);

/** Sent to every replica, because any of them may have the question. */
export const questionAbandoned = event(
  'template.abandoned',
  'The client that asked about a template disconnected; the work can be dropped.',
  z.object({ question: z.string() }),
);

export const resourceTypeList = call('resource-type.list', 'List all known resource types.', {
  question: z.object({
    known: z.string().optional().meta({ description: 'The `version` that the caller has.' }),
  }),
  answer: z.object({
    types: z.array(resourceTypeSchema.extend({ provider: z.string() })).meta({
      description: 'Empty when the caller has this version.',
    }),
    version: z.string().optional().meta({ description: 'Names this list. Older services send none.' }),
    unchanged: z.boolean().optional().meta({ description: 'True when the caller has this version.' }),
  }),
});
