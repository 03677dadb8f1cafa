/** Compiles a client's request to create or update a stack. */
import { stackRevisionShow } from '@anneal/contracts/calls/stack-history.ts';
import { type StackView } from '@anneal/contracts/calls/stacks.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import {
  templateCompile,
  templateValidate,
  type CompileAnswer,
  type CompileQuestion,
} from '@anneal/contracts/calls/templating.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { Ask } from '../../ask.ts';
import { sealGiven, toQuestion, type StackRequest } from './stack-body.ts';

export interface CompilerOptions {
  ask: Ask;
  secrets: Secrets;
}

interface Accepted {
  readonly target: Omit<CompileAnswer, 'resource_count' | 'warnings' | 'operator_resources'>;
  /** Fields for the answer to the client. Empty without warnings. */
  readonly said: Pick<CompileAnswer, 'warnings'>;
  /** The types of its resources that only operators may change, by name. */
  readonly operatorResources: Readonly<Record<string, string>>;
}

export interface Compiler {
  /** @param about `gone`, here and below, is aborted when the client disconnects. */
  fresh(
    wanted: StackRequest,
    about: { project: string; stackName: string; stackId: string; gone: AbortSignal },
  ): Promise<Accepted>;
  /** @param about `keeps` retains omitted fields (PATCH). Otherwise the request replaces everything (PUT). */
  again(wanted: StackRequest, about: { stack: StackView; keeps: boolean; gone: AbortSignal }): Promise<Accepted>;
  /** @param about `showNested` describes the parameters of the nested stacks, too. */
  validate(
    wanted: StackRequest,
    about: { project: string; showNested: boolean; gone: AbortSignal },
  ): Promise<JsonObject>;
}

export function createCompiler({ ask, secrets }: CompilerOptions): Compiler {
  const about = <Q extends CompileQuestion>(question: Q, signal: AbortSignal) => ({
    data: sealGiven(question, secrets),
    project: question.project,
    compiles: true as const,
    signal,
  });
  const compile = async (question: CompileQuestion, gone: AbortSignal): Promise<Accepted> => {
    const asked = about(question, gone);
    const answer = await ask('templating', templateCompile, asked);
    const { resource_count: _, warnings, operator_resources: operatorResources = {}, ...target } = answer;
    return { target, said: warnings ? { warnings } : {}, operatorResources };
  };
  /** The contents from which a change begins: those of the stack, or those of one of its revisions. */
  const baseOf = async (
    { revision }: StackRequest,
    { stack, keeps }: { stack: StackView; keeps: boolean },
  ): Promise<Pick<StackView, 'template' | 'environment' | 'files'>> => {
    if (revision === undefined) return stack;
    if (!keeps) {
      throw new AnnealError(
        'InvalidRequest',
        'revision is only for an update that keeps what it does not change (PATCH), because a PUT replaces everything.',
      );
    }
    const { id, project } = stack;
    return (await ask('scheduling', stackRevisionShow, { project, data: { project, stack: id, revision } })).contents;
  };
  return {
    fresh: (wanted, where) => compile(toQuestion(wanted, where), where.gone),
    async again(wanted, { stack, keeps, gone }) {
      const { template, environment, files } = await baseOf(wanted, { stack, keeps });
      const question = {
        ...toQuestion(wanted, { project: stack.project, stackName: stack.name, stackId: stack.id }),
        ...(keeps && { existing: { template, environment, files, clear_parameters: wanted.clearParameters } }),
        previous_plan: stack.plan,
      };
      return compile(question, gone);
    },
    validate(wanted, { project, showNested, gone }) {
      const question = {
        ...toQuestion(wanted, { project, stackName: 'validated', stackId: '' }),
        ...(showNested && { show_nested: true }),
      };
      return ask('templating', templateValidate, about(question, gone));
    },
  };
}
