/** Workflows: schemas, so that templates that name them can be checked offline. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';

export const mistralTypes: ResourceType[] = [
  {
    type: 'OS::Mistral::CronTrigger',
    properties: {
      name: { type: 'String' },
      pattern: { type: 'String', constraints: [{ custom_constraint: 'cron_expression' }] },
      workflow: {
        type: 'Map',
        required: true,
        schema: {
          name: { type: 'String', required: true, constraints: [{ custom_constraint: 'mistral.workflow' }] },
          input: { type: 'Map' },
        },
      },
      first_time: { type: 'String' },
      count: { type: 'Integer' },
    },
    attributes: { next_execution_time: { type: 'String' }, remaining_executions: { type: 'Integer' } },
  },
  {
    type: 'OS::Mistral::ExternalResource',
    properties: {
      actions: {
        type: 'Map',
        required: true,
        schema: {
          CREATE: {
            type: 'Map',
            schema: {
              workflow: { type: 'String', required: true, constraints: [{ custom_constraint: 'mistral.workflow' }] },
              params: { type: 'Map', default: {} },
            },
          },
          UPDATE: {
            type: 'Map',
            schema: {
              workflow: { type: 'String', required: true, constraints: [{ custom_constraint: 'mistral.workflow' }] },
              params: { type: 'Map', default: {} },
            },
          },
          SUSPEND: {
            type: 'Map',
            schema: {
              workflow: { type: 'String', required: true, constraints: [{ custom_constraint: 'mistral.workflow' }] },
              params: { type: 'Map', default: {} },
            },
          },
          RESUME: {
            type: 'Map',
            schema: {
              workflow: { type: 'String', required: true, constraints: [{ custom_constraint: 'mistral.workflow' }] },
              params: { type: 'Map', default: {} },
            },
          },
          DELETE: {
            type: 'Map',
            schema: {
              workflow: { type: 'String', required: true, constraints: [{ custom_constraint: 'mistral.workflow' }] },
              params: { type: 'Map', default: {} },
            },
          },
        },
      },
      input: { type: 'Map', default: {}, update_allowed: true },
      description: { type: 'String', default: 'Heat managed' },
      replace_on_change_inputs: { type: 'List', default: [] },
      always_update: { type: 'Boolean', default: false },
    },
    attributes: { output: { type: 'Map' } },
  },
  {
    type: 'OS::Mistral::Workflow',
    properties: {
      name: { type: 'String' },
      type: {
        type: 'String',
        required: true,
        update_allowed: true,
        constraints: [{ allowed_values: ['direct', 'reverse'] }],
      },
      use_request_body_as_input: { type: 'Boolean', update_allowed: true },
      tags: { type: 'List', update_allowed: true },
      description: { type: 'String', update_allowed: true },
      input: { type: 'Map', update_allowed: true },
      output: { type: 'Map', update_allowed: true },
      params: { type: 'Map', update_allowed: true },
      task_defaults: {
        type: 'Map',
        update_allowed: true,
        schema: {
          on_success: { type: 'List' },
          on_error: { type: 'List' },
          on_complete: { type: 'List' },
          requires: { type: 'List' },
          retry: { type: 'Map' },
          wait_before: { type: 'Integer' },
          wait_after: { type: 'Integer' },
          pause_before: { type: 'Boolean' },
          timeout: { type: 'Integer' },
          concurrency: { type: 'Integer' },
        },
      },
      tasks: {
        type: 'List',
        required: true,
        update_allowed: true,
        constraints: [{ length: { min: 1 } }],
        schema: {
          '*': {
            type: 'Map',
            schema: {
              name: { type: 'String', required: true },
              description: { type: 'String' },
              input: { type: 'Map' },
              action: { type: 'String' },
              workflow: { type: 'String', constraints: [{ custom_constraint: 'mistral.workflow' }] },
              publish: { type: 'Map' },
              on_success: { type: 'List' },
              on_error: { type: 'List' },
              on_complete: { type: 'List' },
              policies: { type: 'Map' },
              requires: { type: 'List' },
              retry: { type: 'Map' },
              wait_before: { type: 'Integer' },
              wait_after: { type: 'Integer' },
              pause_before: { type: 'Boolean' },
              timeout: { type: 'Integer' },
              with_items: { type: 'String' },
              keep_result: { type: 'Boolean' },
              concurrency: { type: 'Integer' },
              target: { type: 'String' },
              join: { type: 'String' },
            },
          },
        },
      },
    },
    attributes: { data: { type: 'Map' }, alarm_url: { type: 'String' }, executions: { type: 'List' } },
  },
];
