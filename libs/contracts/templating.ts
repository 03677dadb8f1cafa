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
  /** Values given for this stack; they win over those of the environments. */
  parameters: z.record(z.string(), json),
  /** PATCH: what to start from; template, environment, files and parameters that are not given are taken over. */
  existing: z
    .object({ template: z.string(), environment: z.string(), files: z.string(), clear_parameters: z.array(z.string()) })
    .optional(),
  /** The plan before, for rules that look back (immutable parameters). */
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
  /** What is accepted, and probably meant otherwise. */
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
  /** Of the nested stack. */
  stack_id: z.string(),
  stack_name: z.string(),
  /** Of the stack around it: content hashes. */
  environment: z.string(),
  files: z.string(),
  /** The resource that it stands for. */
  resource: z.string(),
  type: z.string(),
  /** Absent in a message of an older version: then the type tells. */
  kind: planNestedSchema.shape.kind.optional(),
  /** Of a group: the template of its members, made from its properties. Absent: the registry says which file. */
  template: jsonObject.optional(),
  /** Of a group: goes into the plan. */
  rolling: planRollingSchema.optional(),
  /** Of the resource, resolved; sealed values become hidden parameters. */
  properties: jsonObject,
  /** The plan that it has, for rules that look back; absent when it is new. */
  previous_plan: z.string().optional(),
  /** Of a preview: parameters that get a value which is not known yet. What reads them stays open. */
  unknown: z.array(z.string()).optional(),
  /** What `resource_facade` reads. */
  facade: z.object({ metadata: json, deletion_policy: z.string(), update_policy: json }),
  /** How deep it stands; the root is 0. */
  depth: z.number().int().positive(),
  /** Resources of the tree that are not in it. */
  resources_outside: z.number().int().nonnegative(),
});
export type CompileNestedQuestion = z.infer<typeof compileNestedQuestionSchema>;

/** Refused with InvalidTemplate and every mistake. */
export const templateCompileNested = call(
  'template.compile_nested',
  'Compile the template of a nested stack, now that the properties of its resource are known.',
  { question: compileNestedQuestionSchema, answer: compileAnswerSchema },
);

export const templateValidate = call('template.validate', 'Check a template; answer as Heat’s validate does.', {
  question: compileQuestionSchema,
  /** Heat's form: Description, Parameters, ParameterGroups, Environment. */
  answer: jsonObject,
});

/** To every replica, since any of them may have the question. */
export const questionAbandoned = event(
  'template.abandoned',
  'The client that a question about a template came from has gone; its work can be dropped.',
  z.object({ question: z.string() }),
);

export const resourceTypeList = call('resource-type.list', 'All resource types that are known.', {
  question: z.object({}),
  answer: z.object({ types: z.array(resourceTypeSchema.extend({ provider: z.string() })) }),
});
