/** Questions to the templating service. */
import { z } from 'zod';
import { call, event } from './define.ts';
import { mistakeSchema } from './errors.ts';
import { json, jsonObject } from './json.ts';
import { planNestedSchema, planRollingSchema } from './plan.ts';
import { resourceTypeSchema } from './resource-type.ts';

/** A template as clients send it: text, or already parsed. */
const document = z.union([z.string(), jsonObject]);

export const compileQuestionSchema = z.object({
  project: z.string(),
  stack_name: z.string(),
  /** Empty when the stack is not stored (validate, preview). */
  stack_id: z.string(),
  template: document.optional(),
  /** Merged in order. */
  environments: z.array(document),
  files: z.record(z.string(), z.string()),
  /** Values for this stack; they override those of the environments. */
  parameters: z.record(z.string(), json),
  /**
   * PATCH: the base of the change. Template, environment, files and parameters that are not given are taken from it.
   */
  existing: z
    .object({ template: z.string(), environment: z.string(), files: z.string(), clear_parameters: z.array(z.string()) })
    .optional(),
  /** The plan before, for rules that compare with it (immutable parameters). */
  previous_plan: z.string().optional(),
});
export type CompileQuestion = z.infer<typeof compileQuestionSchema>;

export const compileAnswerSchema = z.object({
  /** Content hashes in the store. */
  plan: z.string(),
  template: z.string(),
  environment: z.string(),
  files: z.string(),
  description: z.string(),
  resource_count: z.number().int(),
  /** Accepted parts of the template that are probably mistakes. */
  warnings: z.array(mistakeSchema).optional(),
});
export type CompileAnswer = z.infer<typeof compileAnswerSchema>;

/** Refused with InvalidTemplate and every mistake. */
export const templateCompile = call('template.compile', 'Compile a template to a plan and store it.', {
  question: compileQuestionSchema,
  answer: compileAnswerSchema,
});

export const compileNestedQuestionSchema = z.object({
  project: z.string(),
  /** The id of the nested stack. */
  stack_id: z.string(),
  stack_name: z.string(),
  /** Content hashes, from the parent stack. */
  environment: z.string(),
  files: z.string(),
  /** The resource that it represents. */
  resource: z.string(),
  type: z.string(),
  /** Absent in a message of an older version: then the type decides. */
  kind: planNestedSchema.shape.kind.optional(),
  /** For a group: the template of its members, made from its properties. Absent: the registry names the file. */
  template: jsonObject.optional(),
  /** For a group: copied into the plan. */
  rolling: planRollingSchema.optional(),
  /** The resolved properties of the resource; sealed values become hidden parameters. */
  properties: jsonObject,
  /** Its current plan, for rules that compare with it; absent when the stack is new. */
  previous_plan: z.string().optional(),
  /** In a preview: parameters whose value is not known yet. Expressions that read them stay open. */
  unknown: z.array(z.string()).optional(),
  /** The data that `resource_facade` reads. */
  facade: z.object({ metadata: json, deletion_policy: z.string(), update_policy: json }),
  /** Its depth; the root is 0. */
  depth: z.number().int().positive(),
  /** The number of resources of the tree that are outside it. */
  resources_outside: z.number().int().nonnegative(),
});
export type CompileNestedQuestion = z.infer<typeof compileNestedQuestionSchema>;

/** Refused with InvalidTemplate and every mistake. */
export const templateCompileNested = call(
  'template.compile_nested',
  'Compile the template of a nested stack when the properties of its resource are known.',
  { question: compileNestedQuestionSchema, answer: compileAnswerSchema },
);

export const templateValidate = call(
  'template.validate',
  'Validate a template; the answer has the form of Heat’s validate.',
  {
    question: compileQuestionSchema,
    /** Heat's form: Description, Parameters, ParameterGroups, Environment. */
    answer: jsonObject,
  },
);

/** Sent to every replica, because any of them may have the question. */
export const questionAbandoned = event(
  'template.abandoned',
  'The client that asked about a template disconnected; the work can be dropped.',
  z.object({ question: z.string() }),
);

export const resourceTypeList = call('resource-type.list', 'List all known resource types.', {
  question: z.object({}),
  answer: z.object({ types: z.array(resourceTypeSchema.extend({ provider: z.string() })) }),
});
