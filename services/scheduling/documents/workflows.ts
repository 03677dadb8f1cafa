/** The documents of workflows and of what starts them. */
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { AdHocAction } from '@anneal/contracts/workflow.ts';
import type { Document } from '@anneal/store/port.ts';

/** A workflow of a project. Its id follows from project and name, so that a repeat finds it. */
export interface WorkflowDocument extends Document {
  readonly project: string;
  readonly name: string;
  /** Content hash of the checked form. */
  readonly spec: string;
  readonly text: string;
  readonly resource: string | null;
  /** The request of the client that made it, so that a repeat of it is not refused. */
  readonly request?: string;
  readonly created_at: string;
  readonly updated_at: string;
}

/** An ad hoc action of a project. Its id follows from project and name. */
export interface AdHocDocument extends Document {
  readonly project: string;
  readonly name: string;
  readonly action: AdHocAction;
  readonly text: string;
  /** The request of the client that made it, so that a repeat of it is not refused. */
  readonly request?: string;
  readonly created_at: string;
  readonly updated_at: string;
}

/** An environment of executions. Its id follows from project and name. */
export interface WorkflowEnvironmentDocument extends Document {
  readonly project: string;
  readonly name: string;
  readonly description: string;
  readonly variables: JsonObject;
  readonly created_at: string;
  readonly updated_at: string;
}

/** When a trigger starts its workflow. Times are ISO 8601 in UTC. */
export interface CronPlan {
  readonly pattern: string | null;
  /** Null: it starts nothing more. */
  readonly next: string | null;
  /** Null: no limit. */
  readonly remaining: number | null;
}

/** A cron trigger. Its id is that of its resource; for a client's, it follows from project and name. */
export interface CronDocument extends Document, CronPlan {
  readonly project: string;
  readonly owner: string;
  readonly name: string;
  /** Null for the trigger of a client. */
  readonly stack: { readonly id: string; readonly name: string } | null;
  readonly workflow: string;
  readonly workflow_id: string;
  /** The request of the client that made it, so that a repeat is no second trigger. */
  readonly request?: string;
  readonly input: JsonObject;
  readonly params: JsonObject;
  readonly created_at: string;
  readonly updated_at: string;
}

/** A trigger; its id is that of its resource. */
export interface TriggerDocument extends Document {
  readonly project: string;
  readonly name: string;
  readonly stack: { readonly id: string; readonly name: string };
  readonly types: readonly string[];
  readonly match: JsonObject;
  readonly workflow: string;
  readonly input: JsonObject;
  readonly params: JsonObject;
  /** The queue whose messages start the workflow, until this time in milliseconds since the epoch. Absent: events do. */
  readonly queue?: { readonly name: string; readonly until: number };
}
