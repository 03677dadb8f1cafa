"""The form of every body and answer.

Generated from the OpenAPI document; `npm run docs` writes it.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict, Union


class AlarmAction(TypedDict):
    on: str
    target: str


class AlarmPending(TypedDict):
    target: str
    attempts: int
    error: str | None


class Alarm(TypedDict):
    id: str
    name: str
    project: str
    # The type of the resource.
    type: str
    stack_id: str
    stack_name: str
    resource_name: str
    description: str
    enabled: bool
    severity: str
    repeat_actions: bool
    state: Literal["ok", "alarm", "insufficient data"]
    state_reason: str
    state_at: str
    rule: Any
    # Targets by state; `value` for the targets that get each value. Signatures are left out.
    actions: list[AlarmAction]
    # Actions that are not delivered yet.
    pending: list[AlarmPending]
    created_at: str


class Condition(TypedDict):
    type: str
    status: Literal["True", "False", "Unknown"]
    reason: str
    message: str
    since: str


class Config(TypedDict):
    id: str
    name: str
    project: str
    stack_id: str
    group: str
    config: Any
    inputs: list[Any]
    outputs: list[Any]
    options: Any
    created_at: str | None


class ContextDataMember(TypedDict):
    name: str
    # The id of the host.
    host: str
    roles: list[str]
    state: Literal["up", "silent"]
    # The fact `address`, or else the first of `addresses`.
    address: str | None
    addresses: list[str]
    # The facts that the context chooses.
    facts: dict[str, Any]


class ContextData(TypedDict):
    # Grows with each change; 0 before the first version.
    version: int
    members: list[ContextDataMember]
    # Names of the members by role.
    names: dict[str, list[str]]
    # First addresses of the members by role, without those that have none.
    addresses: dict[str, list[str]]


class ContextFailure(TypedDict):
    member: str
    host: str
    config: str
    deployment_id: str
    reason: str


class Context(TypedDict):
    id: str
    name: str
    project: str
    stack_id: str
    stack_name: str
    # Whether the members that are up have run the configs for this version.
    status: Literal["APPLYING", "APPLIED", "FAILED"]
    reason: str
    data: ContextData
    failures: list[ContextFailure]
    # The time of this version of the data.
    changed_at: str | None
    # When its configs had run; null while they run.
    settled_at: str | None


class CredentialStack(TypedDict):
    id: str
    name: str


class Credential(TypedDict):
    id: str
    name: str
    project: str
    can: list[Literal["metrics.post", "events.read", "hooks.complete"]]
    stack: CredentialStack
    # Path of a group below the stack, which measurements get as label.
    group: str | None
    # Names that it may post; empty for all.
    metrics: list[str]
    status: Literal["active", "disabled", "expired"]
    created_at: str
    expires_at: str | None


class CronTrigger(TypedDict):
    id: str
    name: str
    project: str
    workflow: str
    input: Any
    # `env` and `task_name` of each execution.
    params: Any
    # Expression of cron with five fields, in UTC.
    pattern: str | None
    workflow_id: str
    # Null when it starts nothing more.
    next_execution_time: str | None
    # Null: no limit.
    remaining_executions: int | None
    # The id of the resource of a stack that made it; null for one that a client made.
    resource: str | None
    created_at: str
    updated_at: str


class DeadLetterHistory(TypedDict):
    at: str
    error: str


class DeadLetter(TypedDict):
    id: str
    queue: str
    died_at: str
    attempts: float
    failure: Failure
    history: list[DeadLetterHistory]
    message: NotRequired[Any]


class DeliveryAttempt(TypedDict):
    at: str
    status: float | None
    error: str | None
    ms: float


class Delivery(TypedDict):
    id: str
    subscription_id: str
    event_id: str
    event_type: str
    status: Literal["pending", "delivered", "dead"]
    attempts: list[DeliveryAttempt]
    next_attempt_at: str | None
    failure: Failure | None


class DeploymentStream(TypedDict):
    name: str
    bytes: int
    # True when the limit is reached: later bytes were not stored.
    full: bool


class Deployment(TypedDict):
    id: str
    name: str
    project: str
    stack_id: str
    resource_name: str
    host_id: str
    host_name: str
    group: str
    action: str
    status: Literal["IN_PROGRESS", "COMPLETE", "FAILED", "SKIPPED"]
    reason: str
    # Null in a list of the deployments of one config.
    config: Any
    input_values: Any
    output_values: Any
    status_code: int | None
    stdout: str
    stderr: str
    created_at: str
    queued_at: str | None
    started_at: str | None
    finished_at: str | None
    deadline: str | None
    failure: Failure | None
    version: int
    conditions: list[Condition]
    # The stored config that it runs. Absent for a deployment of a stack, whose config has its own id.
    config_id: NotRequired[str]
    # How far the host came. `answered`: exit status 0. `failed`: another one. `refused`: its report was not valid. `started`: it took or started the config and has not answered. `not taken`: it asks for work and has not taken this config. `polled before`: it has not asked since the config was queued. `never polled`: it never asked. `none`: nothing was sent.
    answer_state: NotRequired[Literal["answered", "failed", "refused", "started", "not taken", "polled before", "never polled", "none"]]
    # The values that its creator gave; `input_values` also holds defaults and the `deploy_*` inputs.
    given_values: NotRequired[Any]
    # When the host took the request; null before. A list has it only for deployments whose host took it.
    accepted_at: NotRequired[str | None]
    # What is stored of the streams and large outputs of its latest run. Only where one deployment is shown.
    streams: NotRequired[list[DeploymentStream]]


class ErrorError(TypedDict):
    code: str
    message: str
    remedy: NotRequired[str]
    mistakes: NotRequired[list[Mistake]]
    details: NotRequired[dict[str, Any]]


class Error(TypedDict):
    # Identifies the code.
    type: str
    # The code in words.
    title: str
    status: int
    # The same as `error.message`.
    detail: str
    error: ErrorError


class Event(TypedDict):
    specversion: Literal["1.0"]
    # UUIDv7, or an id derived from the content where a repeat must have the same id.
    id: str
    type: str
    # The service (and replica) that sent it, e.g. `anneal/scheduling`.
    source: str
    # The object of the message, e.g. a stack id. Events are ordered per subject.
    subject: NotRequired[str]
    time: str
    datacontenttype: NotRequired[Literal["application/json"]]
    data: NotRequired[Any]
    # Claim check: the content hash of `data` in the store, when it was too large to travel.
    dataref: NotRequired[str]
    # The same id on all messages that follow from one request from outside.
    correlationid: str
    # The id of the message that caused this one; in a reply, the id of the question.
    causationid: NotRequired[str]
    # W3C trace context.
    traceparent: NotRequired[str]
    project: NotRequired[str]
    # The queue on which the sender awaits the answer.
    replyto: NotRequired[str]
    # How long the sender of a question waits for the answer, in milliseconds.
    answerwithin: NotRequired[int]


class EventGap(TypedDict):
    # The event that is not in the log any more.
    after: str
    # Time of the oldest event of the project in the log; null when the log has none.
    oldest: str | None


class ExecutionParent(TypedDict):
    execution_id: str
    task: str


class ExecutionStartedBy(TypedDict):
    kind: Literal["user", "host", "policy", "alarm", "schedule", "workflow", "hook", "system"]
    # Empty when the actor has no id.
    id: str
    name: str


class Execution(TypedDict):
    id: str
    workflow: str
    project: str
    state: Literal["RUNNING", "PAUSED", "SUCCESS", "ERROR", "CANCELLED"]
    reason: str | None
    description: str
    input: Any
    output: Any
    # The global values that its tasks have published.
    globals: NotRequired[Any]
    # The execution that the tree of sub-workflows began with.
    root: str
    parent: ExecutionParent | None
    stack: CredentialStack | None
    started_by: ExecutionStartedBy
    created_at: str
    updated_at: str
    finished_at: str | None


class ExecutionTaskItems(TypedDict):
    total: int
    ended: int


class ExecutionTask(TypedDict):
    id: str
    name: str
    state: Literal["WAITING", "IDLE", "DELAYED", "RUNNING", "SUCCESS", "ERROR", "CANCELLED", "SKIPPED"]
    reason: str | None
    # The action or workflow that it calls.
    calls: str
    attempt: int
    items: ExecutionTaskItems
    result: Any
    published: Any
    created_at: str
    started_at: str | None
    finished_at: str | None


class Failure(TypedDict):
    code: str
    message: str
    remedy: NotRequired[str]
    # Every mistake of a refused input.
    mistakes: NotRequired[list[Mistake]]
    # Facts for programs: host, config, exit status, tail of standard error, … The sender limits their size.
    details: NotRequired[dict[str, Any]]


class GroupDeciding(TypedDict):
    id: str
    token: str
    since: str
    deadline: str
    before: int
    after: int
    leaving: list[str]
    candidates: list[str]


class GroupRefresh(TypedDict):
    id: str
    state: Literal["running", "waiting", "completed", "failed", "cancelled"]
    total: int
    done: int
    batch: int
    checkpoints: list[int]
    since: str


class GroupMember(TypedDict):
    name: str
    resource_id: str | None
    status: str
    protected: bool
    lost_since: str | None
    # Its host is silent, or its node has a fault.
    lost_reason: NotRequired[str | None]
    created_at: str | None
    servers: list[Any]


class GroupWarmPoolUnfilled(TypedDict):
    since: str
    reason: str


class GroupWarmPool(TypedDict):
    # As the template says.
    size: int
    members: list[GroupMember]
    # Why the group does not fill it, as when a quota refuses the members; absent: it does.
    unfilled: NotRequired[GroupWarmPoolUnfilled]


class Group(TypedDict):
    # The group's own stack.
    stack_id: str
    stack_name: str
    name: str
    type: str
    status: str
    size: int
    min_size: int | None
    max_size: int | None
    paused: Literal["none", "out", "in", "both"]
    cooldown_until: str | None
    deciding: GroupDeciding | None
    refresh: GroupRefresh | None
    members: list[GroupMember]
    # The members that are complete and wait out of service; absent without a pool.
    warm_pool: NotRequired[GroupWarmPool]
    # The latest requests, the newest first; at most 20.
    outcomes: list[ScalingOutcome]


class HostServer(TypedDict):
    stack_id: str
    stack_name: str
    resource_name: str


class HostBrokerAccess(TypedDict):
    issued_at: str
    # When the host was last heard over the broker.
    seen_at: str | None


class HostUnexpectedAnswer(TypedDict):
    # `late`: the run had already ended without an answer. `contradicting`: differs from the accepted answer. `foreign`: for the run of another host. `replaced`: a newer run replaced it. `unknown`: no run has the id.
    kind: Literal["late", "contradicting", "foreign", "replaced", "unknown"]
    # True where the host may be compromised, because it answers a question that it never got.
    alarm: bool
    # The text from the host, at most 100 characters.
    request_id: str
    deployment: str | None
    deployment_id: str | None
    reason: str
    first_at: str
    last_at: str
    count: int


class Host(TypedDict):
    id: str
    name: str
    project: str
    # `expected` until its agent first asks for work; `up` while it asks; `silent` past its deadline.
    status: Literal["expected", "up", "silent", "deleting"]
    requests_queue: str
    responses_queue: str
    # Facts about the machine, reported by its agent and its configs.
    facts: Any
    # The number of changes of the facts so far.
    facts_version: NotRequired[int]
    created_at: str
    first_seen_at: str | None
    last_seen_at: str | None
    pending: int
    # The server that the host is in a stack. Absent for a host outside every stack.
    server: NotRequired[HostServer]
    # The credentials with which the host uses the broker directly. Absent without them.
    broker_access: NotRequired[HostBrokerAccess]
    # Answers that changed nothing, newest last: the last ten alarms and the last ten others.
    unexpected_answers: NotRequired[list[HostUnexpectedAnswer]]
    # The number of all unexpected answers so far.
    unexpected_total: NotRequired[int]
    version: int
    conditions: list[Condition]


class InfoLimits(TypedDict):
    # The largest body of a request: a template with its files, as JSON. ANNEAL_GATEWAY_BODY_LIMIT sets it. Uploads of images have a limit of their own.
    body_bytes: int


class Info(TypedDict):
    name: str
    version: str
    links: dict[str, str]
    limits: InfoLimits


class Mistake(TypedDict):
    code: str
    message: str
    path: str
    file: NotRequired[str]
    line: NotRequired[int]
    column: NotRequired[int]
    expected: NotRequired[str]
    found: NotRequired[str]
    nearest: NotRequired[str]


class OccasionCause(TypedDict):
    kind: Literal["request", "signal", "alarm", "schedule", "update", "replacement", "rollback", "timer", "failure", "system"]
    # The id of the request or event that began it.
    id: str | None
    reason: str | None


class Occasion(TypedDict):
    actor: ExecutionStartedBy
    cause: OccasionCause
    # The id of the user, when it acts with the role admin. Needed to change users, roles and projects.
    operator: NotRequired[str]


class ProjectOptions(TypedDict):
    pass


class ProjectLinks(TypedDict):
    self: str


class Project(TypedDict):
    id: str
    name: str
    description: str
    domain_id: str | None
    parent_id: str | None
    enabled: bool
    tags: list[str]
    is_domain: bool
    options: ProjectOptions
    links: ProjectLinks


class Queue(TypedDict):
    name: str
    kind: Literal["service", "host", "user"]
    depth: float
    in_flight: float
    consumers: float | None
    oldest_age_ms: float | None
    host_id: str | None
    # All messages so far. Null for the queue of a service.
    received: float | None


class Quota(TypedDict):
    name: Literal["stacks", "resources", "stack_bytes", "hosts", "queues", "subscriptions", "alarms", "credentials", "series"]
    limit: int
    # The limit of a project without a quota of its own.
    default: int
    used: int


class Replica(TypedDict):
    # Another one for each start of a process.
    id: str
    # The host name of the machine or container.
    machine: str
    pid: int
    version: str
    status: Literal["ready", "degraded", "silent"]
    # Why the replica is not ready. Empty when it is.
    reason: str
    started_at: str
    # The latest sign of life, by the clock of the gateway.
    heard_at: str
    # The shards of stacks that it runs; only of scheduling.
    shards: list[int]


class ResourceLink(TypedDict):
    href: str
    rel: str


class ResourceHook(TypedDict):
    name: str
    since: str
    kind: Literal["hook", "lifecycle"]
    deadline: str | None


class ResourceDrift(TypedDict):
    property: str
    expected: Any
    actual: Any


class Resource(TypedDict):
    # Without fractions of a second.
    updated_time: str
    # Without fractions of a second.
    creation_time: str
    logical_resource_id: str
    resource_name: str
    physical_resource_id: str
    # Action and status: `CREATE_COMPLETE`.
    resource_status: str
    resource_status_reason: str
    resource_type: str
    links: list[ResourceLink]
    required_by: list[str]
    parent_resource: NotRequired[str]
    started_at: str | None
    finished_at: str | None
    failure: NotRequired[Failure | None]
    description: NotRequired[str]
    attributes: NotRequired[dict[str, Any]]
    # The hook where it waits for an operator or another system.
    hook: NotRequired[ResourceHook]
    conditions: NotRequired[list[Condition]]
    # Differences from the applied properties that the last check found.
    drift: NotRequired[list[ResourceDrift]]
    path: NotRequired[str]


class ResourceFailure(TypedDict):
    resource: str
    type: str
    failure: Failure


class ScalingOutcome(TypedDict):
    # The id of the request; events of the scaling have it, too.
    id: str
    at: str
    # The name of the group in its stack.
    group: str
    policy: str | None
    reason: Literal["signal", "alarm", "schedule", "update", "replacement", "refresh", "request"]
    # `deciding`: a listener of the hook `deciding` decides; an event reports its decision.
    result: Literal["applied", "refused", "deciding"]
    # The number of members at the time of the request.
    before: int
    # The number of members that the request leads to.
    after: int
    refusal: Literal["busy", "failed", "suspended", "deciding", "cooldown", "paused", "warming", "limit", "unchanged", "protected", "quota", "vetoed", "invalid", "missing"] | None
    # One sentence: what happened and why.
    message: str
    # Seconds after which the same request may succeed; null when this is not known.
    retry_after: float | None


class Service(TypedDict):
    name: str
    status: Literal["up", "down", "unknown"]
    queue: str | None
    depth: float | None
    in_flight: float | None
    consumers: float | None
    oldest_age_ms: float | None
    # Its processes, the earliest start first.
    replicas: list[Replica]
    # Consumers that show no sign of life: replicas of a version that does not report.
    unreported: int


class Stack(TypedDict):
    id: str
    links: list[ResourceLink]
    stack_name: str
    description: str
    # Action and status: `CREATE_COMPLETE`.
    stack_status: str
    stack_status_reason: str
    # Without fractions of a second.
    creation_time: str
    updated_time: str | None
    deletion_time: str | None
    stack_owner: str
    parent: str | None
    stack_user_project_id: str
    tags: list[str] | None
    # In a list over all projects.
    project: NotRequired[str]


class StackState(TypedDict):
    id: str
    name: str
    action: str
    status: str
    reason: str
    traversal: str


class SubscriptionOutage(TypedDict):
    # The first failed attempt.
    since: str
    # Attempts that found it away.
    attempts: int


class SubscriptionDropped(TypedDict):
    count: int
    # Time of the first one.
    since: str
    # Time of the last one.
    last: str


class Subscription(TypedDict):
    id: str
    project: str
    name: str
    # Where the events go; without credentials.
    url: str
    # `heat`: the messages of the event sinks of Heat, type `os.heat.event`. `zaqar`: the notifications of a queue.
    format: NotRequired[Literal["cloudevents", "heat", "zaqar"]]
    # The content mode of CloudEvents: one JSON object, or the data with the attributes as headers.
    mode: NotRequired[Literal["structured", "binary"]]
    # Patterns of event types: `stack.create.completed`, `stack.*.failed`, `deployment.#`.
    types: list[str]
    # Only events whose subject starts with this.
    subject_prefix: str
    # `unconfirmed`: the listener has not agreed to receive events; they wait in the log.
    status: Literal["active", "paused", "disabled", "unconfirmed"]
    condense: NotRequired[Literal["latest", "digest"] | None]
    window_seconds: NotRequired[int | None]
    # What follows a refused event. `block`: the events of its subject wait during its retries. `skip`: it is dead at once and they continue.
    on_refusal: NotRequired[Literal["block", "skip"]]
    # Where events go that the listener refused for good.
    dead_letter: NotRequired[str | None]
    created_at: str
    last_success_at: str | None
    last_failure_at: str | None
    last_error: str | None
    # Why it is disabled.
    reason: NotRequired[str | None]
    # Filters in the dialects of the CloudEvents Subscriptions API; an event must pass all.
    filters: NotRequired[list[Any]]
    # The most events of one request. Above 1, the body is a JSON array: application/cloudevents-batch+json.
    batch_size: NotRequired[int]
    # While the listener is away: the time of the next attempt.
    next_attempt_at: NotRequired[str | None]
    # Present while the listener is away.
    outage: NotRequired[SubscriptionOutage | None]
    # Events that wait to be delivered.
    backlog: int
    # Null when this subscription has lost no event; absent in answers of older versions.
    dropped: NotRequired[SubscriptionDropped | None]
    # The project whose events it gets, which an operator chose. Absent: its own.
    events_project: NotRequired[str]
    # An event sink: the stack whose environment names it. The stack creates, changes and deletes it.
    stack_id: NotRequired[str]
    # The requests per minute that the listener has allowed (`WebHook-Allowed-Rate`); null for any number.
    allowed_rate: NotRequired[int | None]
    version: int


class User(TypedDict):
    id: str
    name: str
    domain_id: str
    enabled: bool
    default_project_id: NotRequired[str]
    description: NotRequired[str]
    password_expires_at: None
    options: ProjectOptions
    links: ProjectLinks


class WorkflowInput(TypedDict):
    name: str
    required: bool
    default: Any


class Workflow(TypedDict):
    id: str
    name: str
    project: str
    description: str
    type: Literal["direct", "reverse"]
    tags: list[str]
    input: list[WorkflowInput]
    tasks: list[str]
    # The text; empty for the workflow of a resource.
    definition: str
    # The id of the resource of a stack that made it; null for one that a client made.
    resource: str | None
    created_at: str
    updated_at: str


class ListServicesAnswer(TypedDict):
    services: list[Service]


class OverviewNeed(TypedDict):
    kind: Literal["stack", "node", "host", "dead letters", "service"]
    id: str
    name: str
    # What is wrong or waits, in one sentence.
    summary: str
    since: str | None
    # The steps that an operator can take.
    exits: list[str]


class OverviewWorkingWhyChain(TypedDict):
    object: str
    state: str
    reason: str
    since: str | None


class OverviewWorkingWhyRequest(TypedDict):
    stack_id: str
    resource: str
    queue: str
    # The id by which the provider knows the resource.
    resource_id: NotRequired[str]


class OverviewWorkingWhy(TypedDict):
    # One sentence.
    summary: str
    # From the outermost to the cause.
    chain: list[OverviewWorkingWhyChain]
    # The steps that an operator can take.
    exits: list[str]
    # The request at the end of the chain that a provider works on, and the queue of the provider.
    request: NotRequired[OverviewWorkingWhyRequest]
    # The ids of the idle stack and of the stacks nested in it, whose hosts may have died since.
    idle_stacks: NotRequired[list[str]]
    # The name of the idle resource of the one idle stack, when only its host matters.
    idle_resource: NotRequired[str]


class OverviewWorking(TypedDict):
    id: str
    name: str
    action: Literal["CREATE", "UPDATE", "DELETE", "ROLLBACK", "CHECK", "SUSPEND", "RESUME", "SNAPSHOT", "RESTORE", "ADOPT"]
    status: Literal["IN_PROGRESS", "COMPLETE", "FAILED"]
    # Whether it stands still after a failure until an operator decides.
    paused: bool
    since: str
    why: OverviewWorkingWhy


class Overview(TypedDict):
    # By state.
    stacks: dict[str, int]
    # By provision state.
    nodes: dict[str, int]
    # By status.
    hosts: dict[str, int]
    # What needs a person: failures first, at most 20 of each kind.
    needs: list[OverviewNeed]
    # How many of each kind need a person.
    need_counts: NotRequired[dict[str, int]]
    # Stacks in progress, the longest first, at most 20.
    working: list[OverviewWorking]
    working_count: NotRequired[int]
    # Services that did not answer; their part is missing.
    unavailable: list[str]


class Object(TypedDict):
    kind: Literal["stack", "group", "host", "node", "queue", "image", "workflow", "schedule", "subscription", "project", "user"]
    id: str
    name: str
    # Of a group: the name of its root stack.
    stack: NotRequired[str]


class ListObjectsAnswer(TypedDict):
    objects: list[Object]
    # Kinds whose service did not answer.
    unavailable: list[Literal["stack", "group", "host", "node", "queue", "image", "workflow", "schedule", "subscription", "project", "user"]]


class ListStackFailuresAnswer(TypedDict):
    failures: list[ResourceFailure]


class ListStacksAnswer(TypedDict):
    stacks: list[Stack]
    # With a page: how many rows the list has.
    total: NotRequired[int]
    # With a page: how many of them have the words.
    found: NotRequired[int]


class ListStackResourcesAnswer(TypedDict):
    resources: list[Resource]
    # With a page: how many rows the list has.
    total: NotRequired[int]
    # With a page: how many of them have the words.
    found: NotRequired[int]
    # How many resources are in each state, with and without the words of the search.
    states: dict[str, int]


class ListNodesAnswer(TypedDict):
    nodes: list[Any]
    # With a page: how many rows the list has.
    total: NotRequired[int]
    # With a page: how many of them have the words.
    found: NotRequired[int]


class ListUsersAnswer(TypedDict):
    users: list[User]
    # With a page: how many rows the list has.
    total: NotRequired[int]
    # With a page: how many of them have the words.
    found: NotRequired[int]


class ListProjectsAnswer(TypedDict):
    projects: list[Project]
    # With a page: how many rows the list has.
    total: NotRequired[int]
    # With a page: how many of them have the words.
    found: NotRequired[int]


class NodeConsoleLogLine(TypedDict):
    # The name of the line at its BMC. A reader that follows the log compares it.
    id: str
    # Null where the BMC records no time.
    at: str | None
    # At most 4,096 characters, without control sequences.
    text: str


class NodeConsoleLog(TypedDict):
    # Oldest first.
    lines: list[NodeConsoleLogLine]
    # The number of lines that the BMC keeps.
    total: int


class Revision(TypedDict):
    id: str
    # When the stack was last sent towards it.
    at: str
    action: Literal["CREATE", "UPDATE", "DELETE", "ROLLBACK", "CHECK", "SUSPEND", "RESUME", "SNAPSHOT", "RESTORE", "ADOPT"]
    # How that action ended, or that it has not.
    status: Literal["IN_PROGRESS", "COMPLETE", "FAILED"]
    reason: str
    is_current: bool
    # Content hash of the plan. Equal plans have equal hashes.
    plan: str
    # Who sent the stack towards it last, and why; absent in revisions of older versions.
    occasion: NotRequired[Occasion]


class ListStackRevisionsAnswer(TypedDict):
    revisions: list[Revision]


class StackRevisionContents(TypedDict):
    template: str
    environment: str
    files: str


class StackRevision(TypedDict):
    id: str
    # When the stack was last sent towards it.
    at: str
    action: Literal["CREATE", "UPDATE", "DELETE", "ROLLBACK", "CHECK", "SUSPEND", "RESUME", "SNAPSHOT", "RESTORE", "ADOPT"]
    # How that action ended, or that it has not.
    status: Literal["IN_PROGRESS", "COMPLETE", "FAILED"]
    reason: str
    is_current: bool
    # Content hash of the plan. Equal plans have equal hashes.
    plan: str
    # Who sent the stack towards it last, and why; absent in revisions of older versions.
    occasion: NotRequired[Occasion]
    template: Any
    environment: Any
    files: Any
    parameters: Any
    # Content hashes, for an update that begins from it.
    contents: StackRevisionContents


class ListGroupsAnswerGroupRoot(TypedDict):
    stack_id: str
    stack_name: str


class ListGroupsAnswerGroup(TypedDict):
    # The group's own stack.
    stack_id: str
    name: str
    type: str
    status: str
    min_size: int | None
    max_size: int | None
    paused: Literal["none", "out", "in", "both"]
    refresh: GroupRefresh | None
    project: str
    # The stack that an operator created. Null while its deletion is not complete.
    root: ListGroupsAnswerGroupRoot | None
    # The path of the group in the root stack: `tier/workers`.
    path: str
    # Members. While the size changes: those before the change.
    size: int
    # The size that the change, or the decision of a listener, leads to.
    wanted: int
    # Members that the running change adds.
    entering: int
    # Members that the running change removes.
    leaving: int
    # Members of the warm pool: complete, and out of service.
    warm: int
    # Members whose host is silent, or whose node has a fault.
    lost: int
    # The deadline of a listener that decides.
    deciding_until: str | None
    # The latest request and its outcome.
    outcome: ScalingOutcome | None


class ListGroupsAnswer(TypedDict):
    groups: list[ListGroupsAnswerGroup]


class ListHostsAnswer(TypedDict):
    hosts: list[Host]
    # With a page: how many rows the list has.
    total: NotRequired[int]
    # With a page: how many of them have the words.
    found: NotRequired[int]


class HostMetadataUrl(TypedDict):
    # Where programs on the host read its metadata. A new token changes it, so the file anneal/metadata-url of the config drive is out of date.
    metadata_url: str


class ListContextsAnswer(TypedDict):
    contexts: list[Context]


class ListDeploymentsAnswer(TypedDict):
    deployments: list[Deployment]


class ListQueuesAnswer(TypedDict):
    queues: list[Queue]
    # With a page: how many rows the list has.
    total: NotRequired[int]
    # With a page: how many of them have the words.
    found: NotRequired[int]


class Message(TypedDict):
    id: str


class PeekMessagesAnswer(TypedDict):
    messages: list[Message]


class Series(TypedDict):
    id: str
    name: str
    unit: str | None
    labels: dict[str, str]
    created_at: str
    # Time of a late measurement; exact to five minutes.
    last_at: str


class ListSeriesAnswer(TypedDict):
    series: list[Series]


class ResultPoint(TypedDict):
    # The start of the period.
    at: str
    value: float


class Result(TypedDict):
    labels: dict[str, str]
    # The number of series in the result.
    series: int
    points: list[ResultPoint]


class AggregateMeasurementsAnswer(TypedDict):
    granularity: int
    results: list[Result]


class ListAlarmsAnswer(TypedDict):
    alarms: list[Alarm]


class AlarmSeriesSeriesPoint(TypedDict):
    # The begin of the period.
    at: str
    # Null without a measurement.
    value: float | None
    # Whether the value is on the side of the alarm.
    outside: bool


class AlarmSeriesSeries(TypedDict):
    # The rule as text, e.g. `mean(cpu) gt 80`.
    rule: str
    comparison: str
    threshold: float
    # Seconds of a period.
    granularity: int
    points: list[AlarmSeriesSeriesPoint]


class AlarmSeries(TypedDict):
    series: list[AlarmSeriesSeries]


class AlarmHistoryHistory(TypedDict):
    at: str
    kind: Literal["state transition", "action", "action failed"]
    detail: str


class AlarmHistory(TypedDict):
    history: list[AlarmHistoryHistory]


class ListCredentialsAnswer(TypedDict):
    credentials: list[Credential]


class ImageDetails(TypedDict):
    properties: NotRequired[dict[str, str]]
    tags: NotRequired[list[str]]
    min_disk: NotRequired[int]
    min_ram: NotRequired[int]


class Image(TypedDict):
    id: str
    name: str
    # Where machines fetch it. Absent: the server keeps the content, which was uploaded.
    url: NotRequired[str]
    # Checksum of the content, which is compared on the disk before the boot.
    sha256: str
    # Bytes.
    size: int
    # Facts that Glance's clients give and read. Anneal does not interpret them.
    details: NotRequired[ImageDetails]
    created_at: str


class ListImagesAnswer(TypedDict):
    images: list[Image]


class ProjectQuota(TypedDict):
    quotas: list[Quota]


class ListDeadLettersAnswer(TypedDict):
    dead_letters: list[DeadLetter]


class ListEventsAnswer(TypedDict):
    events: list[Event]
    cursor: NotRequired[str]
    gap: NotRequired[EventGap]


class ListSubscriptionsAnswer(TypedDict):
    subscriptions: list[Subscription]


class Attempt(TypedDict):
    at: str
    # The HTTP status; null without an answer.
    status: float | None
    error: str | None
    # Duration of the request.
    ms: float
    # The first event of the request.
    event_id: str
    event_type: str
    subject: NotRequired[str]
    # The number of events of the request.
    events: int
    sequence: int


class ListSubscriptionAttemptsAnswer(TypedDict):
    attempts: list[Attempt]


class ListSubscriptionDeliveriesAnswer(TypedDict):
    deliveries: list[Delivery]


class ListWorkflowsAnswer(TypedDict):
    workflows: list[Workflow]


class ListCronTriggersAnswer(TypedDict):
    cron_triggers: list[CronTrigger]


class ListExecutionsAnswer(TypedDict):
    executions: list[Execution]


class GetExecutionAnswer(TypedDict):
    execution: Execution
    tasks: list[ExecutionTask]


class ActOnStackBodyCheck(TypedDict):
    kind: Literal["check"]


class ActOnStackBodySuspend(TypedDict):
    kind: Literal["suspend"]


class ActOnStackBodyResume(TypedDict):
    kind: Literal["resume"]


class ActOnStackBodyCancel(TypedDict):
    kind: Literal["cancel"]
    rollback: bool


class ActOnStackBodyRollback(TypedDict):
    kind: Literal["rollback"]


class ActOnStackBodyRetry(TypedDict):
    kind: Literal["retry"]


class ActOnStackBodySnapshot(TypedDict):
    kind: Literal["snapshot"]
    id: str
    name: str


class ActOnStackBodyRestore(TypedDict):
    kind: Literal["restore"]
    snapshot: str


class ActOnStackBodyAbandon(TypedDict):
    kind: Literal["abandon"]


ActOnStackBody: TypeAlias = Union[ActOnStackBodyCheck, ActOnStackBodySuspend, ActOnStackBodyResume, ActOnStackBodyCancel, ActOnStackBodyRollback, ActOnStackBodyRetry, ActOnStackBodySnapshot, ActOnStackBodyRestore, ActOnStackBodyAbandon]


class ActOnResourceBodyMark(TypedDict):
    kind: Literal["mark"]
    unhealthy: bool
    reason: str


class ActOnResourceBodySkip(TypedDict):
    kind: Literal["skip"]


class ActOnResourceBodyClearHook(TypedDict):
    kind: Literal["clear hook"]
    hook: str


class ActOnResourceBodyHeartbeat(TypedDict):
    kind: Literal["heartbeat"]
    hook: str
    token: str


class ActOnResourceBodyCompleteHook(TypedDict):
    kind: Literal["complete hook"]
    hook: str
    token: str
    result: Literal["continue", "abandon"]


ActOnResourceBody: TypeAlias = Union[ActOnResourceBodyMark, ActOnResourceBodySkip, ActOnResourceBodyClearHook, ActOnResourceBodyHeartbeat, ActOnResourceBodyCompleteHook]


class ActOnResourceAnswer(TypedDict):
    # For a heartbeat: the new deadline of the wait.
    deadline: NotRequired[str]


class ImportStackBody(TypedDict):
    # What `openstack stack abandon` or `openstack stack export` wrote.
    data: Any
    # The name of the stack. Default: the name in the data.
    name: NotRequired[str]
    # The joined host of a server, by the path, the name or the id that the server had in Heat.
    hosts: NotRequired[dict[str, str]]
    # Heat's list of software deployments, for their output values, which the data does not contain.
    deployments: NotRequired[list[Any]]
    # Parameters that replace those of the data.
    parameters: NotRequired[Any]
    # Take over resources whose last action failed, too.
    include_failed: NotRequired[bool]
    # Only answer the plan, with every mistake.
    dry_run: NotRequired[bool]


class ImportStackAnswerResource(TypedDict):
    # The path of the resource, such as `group/0/server`.
    resource: str
    type: str
    # Its action and status in Heat.
    status: str
    # How the resource is taken over.
    manner: Literal["as it is", "host", "nested stack"]
    # The id of its object; of a server, the id of its host here.
    physical_id: str
    note: str


class ImportStackAnswer(TypedDict):
    name: str
    resources: list[ImportStackAnswerResource]
    warnings: list[str]
    # Only in the answer to a dry run.
    mistakes: list[Mistake]
    # Null: a dry run.
    stack: CredentialStack | None


class CheckTemplateBody(TypedDict):
    template: str
    files: NotRequired[dict[str, str]]
    environment_files: NotRequired[list[str]]
    parameters: NotRequired[dict[str, Any]]
    # Id of an existing stack, whose files, environment and parameters are used where none are given.
    stack: NotRequired[str]


class OutlineLevel(TypedDict):
    name: str
    type: str


OutlineEdge = TypedDict("OutlineEdge", {
    "from": "str",
    "to": "str",
})


class Outline(TypedDict):
    # The resources of a level can be created in parallel once the levels before it are complete.
    levels: list[list[OutlineLevel]]
    # The longest chain of requirements.
    critical_path: list[str]
    resources: int
    edges: list[OutlineEdge]


class CheckTemplateAnswer(TypedDict):
    # Every mistake, with its line and column. Empty: it compiles.
    mistakes: list[Mistake]
    warnings: list[Mistake]
    description: str
    # Each parameter in the form of Heat's validate.
    parameters: dict[str, Any]
    # As written; null without groups.
    parameter_groups: Any
    # The order of work of the root stack; null when there are mistakes.
    outline: Outline | None


class ActOnGroupBodyProtect(TypedDict):
    kind: Literal["protect"]
    members: list[str]
    # A protected member never leaves when the group shrinks.
    protected: bool


class ActOnGroupBodyPause(TypedDict):
    kind: Literal["pause"]
    # Which changes of size policies may not make. `none`: all may.
    scaling: Literal["none", "out", "in", "both"]


class ActOnGroupBodyResize(TypedDict):
    kind: Literal["resize"]
    size: int
    message: NotRequired[str]


class ActOnGroupBodyRemove(TypedDict):
    kind: Literal["remove"]
    members: list[str]
    # True: new members take their place, and the size stays.
    replace: bool
    message: NotRequired[str]


class ActOnGroupBodyRefresh(TypedDict):
    kind: Literal["refresh"]
    batch: int
    # Percentages, ascending: the refresh waits there until an operator continues it.
    checkpoints: list[int]


class ActOnGroupBodyContinueRefresh(TypedDict):
    kind: Literal["continue refresh"]


class ActOnGroupBodyCancelRefresh(TypedDict):
    kind: Literal["cancel refresh"]


class ActOnGroupBodyDecide(TypedDict):
    kind: Literal["decide"]
    token: str
    result: Literal["continue", "abandon"]
    # Another size than the proposed one.
    size: NotRequired[int]
    # The members that leave.
    victims: NotRequired[list[str]]
    message: NotRequired[str]


class ActOnGroupBodyHeartbeat(TypedDict):
    kind: Literal["heartbeat"]
    token: str


ActOnGroupBody: TypeAlias = Union[ActOnGroupBodyProtect, ActOnGroupBodyPause, ActOnGroupBodyResize, ActOnGroupBodyRemove, ActOnGroupBodyRefresh, ActOnGroupBodyContinueRefresh, ActOnGroupBodyCancelRefresh, ActOnGroupBodyDecide, ActOnGroupBodyHeartbeat]


class ActOnGroupAnswer(TypedDict):
    # For an action that asks for other members.
    outcome: NotRequired[ScalingOutcome]
    # For a heartbeat: the new deadline.
    deadline: NotRequired[str]


class CompleteHookBody(TypedDict):
    result: Literal["continue", "abandon"]
    # Only for the hook `deciding`.
    size: NotRequired[int]
    # Only for the hook `deciding`.
    victims: NotRequired[list[str]]
    # Only for the hook `deciding`.
    message: NotRequired[str]


class DeleteHostAnswer(TypedDict):
    pass


class HostToken(TypedDict):
    host: Host
    token: str
    # Where programs on the host read its metadata. A new token changes it, so the file anneal/metadata-url of the config drive is out of date.
    metadata_url: str


class HostCredentialAccess(TypedDict):
    broker: Literal["rabbitmq", "nats"]
    # The address of the broker, without credentials.
    url: str
    user: str
    password: str
    # Where the host reads: a queue (RabbitMQ) or a subject (NATS).
    requests: str
    # Where the host writes: an exchange (RabbitMQ) or a subject (NATS).
    responses: str
    # NATS only: the prefix of the subjects for replies to the host.
    inbox: NotRequired[str]


class HostCredential(TypedDict):
    host: Host
    access: HostCredentialAccess


class DeleteHostCredentialAnswer(TypedDict):
    host: Host


class JoinHostAnswer(TypedDict):
    host: Host
    # The secret address of the script that makes a machine this host.
    url: str
    expires_at: str


class CreateDeploymentBody(TypedDict):
    config: str
    # Ids of hosts.
    hosts: list[str]
    # Time limit of each deployment, waiting included. Absent: one day.
    seconds: NotRequired[int]


class StoreConfigBody(TypedDict):
    # Chosen by the client, so that it can repeat the request.
    id: str
    name: str
    group: NotRequired[str]
    config: Any
    options: NotRequired[Any]


class PublishMessagesBodyMessage(TypedDict):
    body: Any
    ttl: NotRequired[int]


class PublishMessagesBody(TypedDict):
    messages: list[PublishMessagesBodyMessage]


class PublishMessagesAnswer(TypedDict):
    ids: list[str]


class PostMeasurementsBodyMeasurement(TypedDict):
    name: str
    # A finite number.
    value: float
    unit: NotRequired[str]
    # Absent: the time of arrival.
    at: NotRequired[str]
    labels: NotRequired[dict[str, str]]


class PostMeasurementsBody(TypedDict):
    id: NotRequired[str]
    measurements: list[PostMeasurementsBodyMeasurement]


class PostMeasurementsAnswer(TypedDict):
    stored: int
    repeated: int


class SetAlarmStateBody(TypedDict):
    state: Literal["ok", "alarm", "insufficient data"]


class CreateCredentialBody(TypedDict):
    name: str
    can: list[Literal["metrics.post", "events.read", "hooks.complete"]]
    stack: str
    group: NotRequired[str]
    metrics: NotRequired[list[str]]
    expires_seconds: NotRequired[int]


class CreateCredentialAnswer(TypedDict):
    credential: Credential
    token: str
    access_key: str
    secret_key: str


class CreateImageBody(TypedDict):
    name: str
    # Where machines fetch it. Absent: the server keeps the content, which was uploaded.
    url: str
    # Checksum of the content, which is compared on the disk before the boot.
    sha256: str
    # Bytes.
    size: int
    # Facts that Glance's clients give and read. Anneal does not interpret them.
    details: NotRequired[ImageDetails]


class SetProjectQuotaBody(TypedDict):
    limits: dict[str, int | None]


class PurgeDeadLettersAnswer(TypedDict):
    purged: float


class ReplayDeadLetterBody(TypedDict):
    data: NotRequired[Any]


class ReplayDeadLetterAnswer(TypedDict):
    id: str


class CreateSubscriptionBody(TypedDict):
    name: NotRequired[str]
    url: str
    credentials: NotRequired[str]
    format: NotRequired[Literal["cloudevents", "heat"]]
    mode: NotRequired[Literal["structured", "binary"]]
    confirm: NotRequired[bool]
    condense: NotRequired[Literal["latest", "digest"]]
    window_seconds: NotRequired[int]
    on_refusal: NotRequired[Literal["block", "skip"]]
    dead_letter: NotRequired[str]
    types: NotRequired[list[str]]
    # Events of this project, by id or name, in place of the own one. Only for operators.
    project: NotRequired[str]
    subject_prefix: NotRequired[str]
    batch_size: NotRequired[int]
    filters: NotRequired[list[Any]]
    # Events of this stack and of everything nested in it: a name or an id, and a path below it, as in `web/workers`.
    stack: NotRequired[str | list[str]]
    # Events of stacks whose root has this tag.
    tag: NotRequired[str | list[str]]
    # Events of this group and its members: its path from the root, as in `web/workers`, or its name.
    group: NotRequired[str | list[str]]
    # Events of this host and of the deployments on it: its name or id.
    host: NotRequired[str | list[str]]
    secret: NotRequired[str]
    after: NotRequired[str]


class CreateSubscriptionAnswer(TypedDict):
    subscription: Subscription
    secret: str
    gap: NotRequired[EventGap]


class TestSubscriptionAnswer(TypedDict):
    # The HTTP status; null without an answer.
    status: float | None
    error: str | None
    # Duration of the request.
    ms: float
    subscription: Subscription


class RotateSubscriptionSecretBody(TypedDict):
    secret: NotRequired[str]
    keep_seconds: NotRequired[int]


class RotateSubscriptionSecretAnswer(TypedDict):
    subscription: Subscription
    secret: str


ReplaySubscriptionBody = TypedDict("ReplaySubscriptionBody", {
    "from": "str",
    "to": "NotRequired[str]",
})


class ReplaySubscriptionAnswer(TypedDict):
    events: int


class CreateWorkflowBody(TypedDict):
    text: str
    replace: NotRequired[bool]


class CreateCronTriggerBodyParams(TypedDict):
    env: NotRequired[Any]
    task_name: NotRequired[str]


class CreateCronTriggerBody(TypedDict):
    name: str
    workflow: str
    input: NotRequired[Any]
    params: NotRequired[CreateCronTriggerBodyParams]
    # Expression of cron with five fields, in UTC.
    pattern: NotRequired[str]
    # The first execution; later ones follow the pattern.
    first_time: NotRequired[str]
    # The number of executions.
    count: NotRequired[int]


class CreateExecutionBody(TypedDict):
    # Chosen by the client: a repeat with the same id starts nothing new.
    id: NotRequired[str]
    workflow: str
    input: NotRequired[Any]
    env: NotRequired[Any]
    task_name: NotRequired[str]
    description: NotRequired[str]


class ActOnExecutionBodyPause(TypedDict):
    kind: Literal["pause"]


class ActOnExecutionBodyResume(TypedDict):
    kind: Literal["resume"]
    env: NotRequired[Any]


class ActOnExecutionBodyCancel(TypedDict):
    kind: Literal["cancel"]
    reason: NotRequired[str]


class ActOnExecutionBodyRerun(TypedDict):
    kind: Literal["rerun"]
    task: str
    failed_items_only: bool


class ActOnExecutionBodySkip(TypedDict):
    kind: Literal["skip"]
    task: str


class ActOnExecutionBodyComplete(TypedDict):
    kind: Literal["complete"]
    task: str
    state: Literal["SUCCESS", "ERROR"]
    output: Any


class ActOnExecutionBodyDelete(TypedDict):
    kind: Literal["delete"]


ActOnExecutionBody: TypeAlias = Union[ActOnExecutionBodyPause, ActOnExecutionBodyResume, ActOnExecutionBodyCancel, ActOnExecutionBodyRerun, ActOnExecutionBodySkip, ActOnExecutionBodyComplete, ActOnExecutionBodyDelete]
