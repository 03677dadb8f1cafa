"""A function for each operation of the API.

Generated from the OpenAPI document; `npm run docs` writes it.
"""

from __future__ import annotations

# mypy: disable-error-code=no-any-return
from collections.abc import Iterator, Sequence
from typing import IO, Any, Literal

from . import types
from .connection import Connection
from .stream import StreamedEvent


class Operations:
    """Every operation of `/api/v1`. Each raises `AnnealError` for a refusal and when no server answers."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def get_info(self) -> types.Info:
        """Show the name and version of the server. Needs no token."""
        return self.connection.json("GET", "/info")

    def list_services(self) -> types.ListServicesAnswer:
        """List the services: whether each consumes its requests, how many requests wait and for how long, and the health, version, start and shards of each replica."""
        return self.connection.json("GET", "/services")

    def get_overview(self) -> types.Overview:
        """Show what works, what failed and what needs a person, and count stacks, nodes and hosts by state."""
        return self.connection.json("GET", "/overview")

    def list_objects(
        self,
        *,
        find: str | None = None,
        kind: Literal["stack", "group", "host", "node", "queue", "image", "workflow", "schedule", "subscription", "project", "user"] | None = None,
        limit: int | None = None,
    ) -> types.ListObjectsAnswer:
        """Find objects of every kind, or of one, by words of their names: at most `limit` of each kind. Kinds that the caller may not list are left out."""
        return self.connection.json("GET", "/objects", query={"find": find, "kind": kind, "limit": limit})

    def act_on_stack(self, stack: str, body: types.ActOnStackBody) -> types.StackState:
        """Start an action: check, suspend, resume, cancel, rollback, retry, snapshot, restore or abandon."""
        return self.connection.json("POST", f"/stacks/{self.connection.segment(stack)}/actions", body=body)

    def act_on_resource(
        self,
        stack: str,
        resource: str,
        body: types.ActOnResourceBody,
    ) -> types.ActOnResourceAnswer:
        """Run an action on a resource: mark it, skip its failure, clear a hook, or extend or complete a lifecycle hook."""
        return self.connection.json("POST", f"/stacks/{self.connection.segment(stack)}/resources/{self.connection.segment(resource)}/actions", body=body)

    def list_stack_failures(self, stack: str) -> types.ListStackFailuresAnswer:
        """List every failed resource of this stack and its nested stacks, root cause first."""
        return self.connection.json("GET", f"/stacks/{self.connection.segment(stack)}/failures")

    def get_stack_why(self, stack: str, *, resource: str | None = None) -> types.OverviewWorkingWhy:
        """Explain why a stack or resource makes no progress: the chain from it to the cause of the wait."""
        return self.connection.json("GET", f"/stacks/{self.connection.segment(stack)}/why", query={"resource": resource})

    def list_stacks(
        self,
        *,
        find: str | None = None,
        sort: str | None = None,
        descending: bool | None = None,
        offset: int | None = None,
        limit: int | None = None,
    ) -> types.ListStacksAnswer:
        """Show one page of the stacks of the project, newest first, in the form of Heat. Nested ones are left out."""
        return self.connection.json("GET", "/stacks", query={"find": find, "sort": sort, "descending": descending, "offset": offset, "limit": limit})

    def list_stack_resources(
        self,
        stack: str,
        *,
        find: str | None = None,
        sort: str | None = None,
        descending: bool | None = None,
        offset: int | None = None,
        limit: int | None = None,
        depth: int | None = None,
    ) -> types.ListStackResourcesAnswer:
        """Show one page of the resources of a stack and its nested stacks, in the form of Heat with the path of each. Columns: path, state (what failed first), type, changed."""
        return self.connection.json("GET", f"/stacks/{self.connection.segment(stack)}/resources", query={"find": find, "sort": sort, "descending": descending, "offset": offset, "limit": limit, "depth": depth})

    def list_nodes(
        self,
        *,
        find: str | None = None,
        sort: str | None = None,
        descending: bool | None = None,
        offset: int | None = None,
        limit: int | None = None,
    ) -> types.ListNodesAnswer:
        """Show one page of the nodes, by name, in the form of Ironic."""
        return self.connection.json("GET", "/nodes", query={"find": find, "sort": sort, "descending": descending, "offset": offset, "limit": limit})

    def list_users(
        self,
        *,
        find: str | None = None,
        sort: str | None = None,
        descending: bool | None = None,
        offset: int | None = None,
        limit: int | None = None,
    ) -> types.ListUsersAnswer:
        """Show one page of the users, by name, in the form of Keystone. Columns: name, status, description."""
        return self.connection.json("GET", "/users", query={"find": find, "sort": sort, "descending": descending, "offset": offset, "limit": limit})

    def list_projects(
        self,
        *,
        find: str | None = None,
        sort: str | None = None,
        descending: bool | None = None,
        offset: int | None = None,
        limit: int | None = None,
    ) -> types.ListProjectsAnswer:
        """Show one page of the projects, by name, in the form of Keystone. Columns: name, status, description."""
        return self.connection.json("GET", "/projects", query={"find": find, "sort": sort, "descending": descending, "offset": offset, "limit": limit})

    def get_node_console_log(
        self,
        node: str,
        *,
        limit: int | None = None,
        known: str | None = None,
        wait: int | None = None,
    ) -> types.NodeConsoleLog:
        """Read the last lines of the serial console of a machine, from its BMC, oldest first. To follow it, ask again with the last known id: the answer waits until there is another line."""
        return self.connection.json("GET", f"/nodes/{self.connection.segment(node)}/console-log", query={"limit": limit, "known": known, "wait": wait})

    def list_stack_revisions(self, stack: str) -> types.ListStackRevisionsAnswer:
        """List the stored revisions of a stack, the newest first: the states that updates sent it towards."""
        return self.connection.json("GET", f"/stacks/{self.connection.segment(stack)}/revisions")

    def get_stack_revision(self, stack: str, revision: str) -> types.StackRevision:
        """Show the template, the parameters, the environment and the files of a revision. Secrets are masked."""
        return self.connection.json("GET", f"/stacks/{self.connection.segment(stack)}/revisions/{self.connection.segment(revision)}")

    def import_stack(self, body: types.ImportStackBody) -> types.ImportStackAnswer:
        """Take over a stack of a running Heat without changing a resource, or show how with `dry_run`."""
        return self.connection.json("POST", "/stacks/import", body=body)

    def check_template(self, body: types.CheckTemplateBody) -> types.CheckTemplateAnswer:
        """Check a template while it is written: every mistake with its position, parameters and order of work."""
        return self.connection.json("POST", "/templates/check", body=body)

    def list_groups(
        self,
        *,
        limit: int | None = None,
        marker: str | None = None,
        all_projects: bool | None = None,
    ) -> types.ListGroupsAnswer:
        """List groups that scale, in pages; with all_projects=true, which only operators may use, of all projects."""
        return self.connection.json("GET", "/groups", query={"limit": limit, "marker": marker, "all_projects": all_projects})

    def get_stack_group(self, stack: str, group: str) -> types.Group:
        """Read a group that scales: its members, its last requests and their outcomes."""
        return self.connection.json("GET", f"/stacks/{self.connection.segment(stack)}/groups/{self.connection.segment(group)}")

    def act_on_group(self, stack: str, group: str, body: types.ActOnGroupBody) -> types.ActOnGroupAnswer:
        """Run an action on a group: protect members, pause, resize, remove, refresh, decide or heartbeat."""
        return self.connection.json("POST", f"/stacks/{self.connection.segment(stack)}/groups/{self.connection.segment(group)}/actions", body=body)

    def complete_hook(self, token: str, body: types.CompleteHookBody) -> types.ActOnGroupAnswer:
        """Answer a wait at a lifecycle hook, with the address in its event; needs no login."""
        return self.connection.json("POST", f"/hooks/{self.connection.segment(token)}", body=body)

    def heartbeat_hook(self, token: str) -> types.ActOnGroupAnswer:
        """Extend a wait at a lifecycle hook, with the address in its event; answers the new deadline."""
        return self.connection.json("POST", f"/hooks/{self.connection.segment(token)}/heartbeat")

    def list_hosts(
        self,
        *,
        where: str | None = None,
        find: str | None = None,
        sort: str | None = None,
        descending: bool | None = None,
        offset: int | None = None,
        limit: int | None = None,
    ) -> types.ListHostsAnswer:
        """List the hosts of the project, those for which an expression is true, or one page of them."""
        return self.connection.json("GET", "/hosts", query={"where": where, "find": find, "sort": sort, "descending": descending, "offset": offset, "limit": limit})

    def get_host(self, host: str) -> types.Host:
        """Show a host by id or name."""
        return self.connection.json("GET", f"/hosts/{self.connection.segment(host)}")

    def delete_host(self, host: str) -> types.DeleteHostAnswer:
        """Delete a joined host. A host of a stack is refused: delete its server from the stack."""
        return self.connection.json("DELETE", f"/hosts/{self.connection.segment(host)}")

    def create_host_token(self, host: str) -> types.HostToken:
        """Issue a new token for a host; the old token stops working."""
        return self.connection.json("POST", f"/hosts/{self.connection.segment(host)}/token")

    def get_host_metadata_url(self, host: str) -> types.HostMetadataUrl:
        """Show the address at which a host reads its own metadata. It needs the role admin, because it is a secret."""
        return self.connection.json("GET", f"/hosts/{self.connection.segment(host)}/metadata-url")

    def create_host_credential(self, host: str) -> types.HostCredential:
        """Issue credentials with which a host uses the broker directly; the earlier ones stop working."""
        return self.connection.json("POST", f"/hosts/{self.connection.segment(host)}/credentials")

    def delete_host_credential(self, host: str) -> types.DeleteHostCredentialAnswer:
        """Revoke the credentials of a host for the broker; its connections end."""
        return self.connection.json("DELETE", f"/hosts/{self.connection.segment(host)}/credentials")

    def join_host(self, host: str) -> types.JoinHostAnswer:
        """Issue an address with which a machine joins as this host, once. Creates the host unless it exists."""
        return self.connection.json("POST", f"/hosts/{self.connection.segment(host)}/join")

    def list_contexts(self, *, stack: str | None = None) -> types.ListContextsAnswer:
        """List the contexts of the project, or of a stack."""
        return self.connection.json("GET", "/contexts", query={"stack": stack})

    def get_context(self, context: str, *, wait: float | None = None) -> types.Context:
        """Show a context by id or name: its members with their facts, and the state of its configs. With If-None-Match it answers 304 without a change; `wait` is the number of seconds for which it waits for a change."""
        return self.connection.json("GET", f"/contexts/{self.connection.segment(context)}", query={"wait": wait})

    def list_deployments(
        self,
        *,
        host: str | None = None,
        stack: str | None = None,
        config: str | None = None,
        ended_after: str | None = None,
    ) -> types.ListDeploymentsAnswer:
        """List the deployments of the project, of a host, of a stack, or of a config without a stack, whose text is not repeated."""
        return self.connection.json("GET", "/deployments", query={"host": host, "stack": stack, "config": config, "ended_after": ended_after})

    def create_deployment(self, body: types.CreateDeploymentBody) -> types.ListDeploymentsAnswer:
        """Run a config on hosts. A repeat runs nothing twice, because a host and a config have one deployment. Nothing runs when a host does not exist. In the answer `config` is null and `input_values` is empty. The deployments are deleted some time after their end (ANNEAL_CONFIGURATION_RUN_KEEP_SECONDS)."""
        return self.connection.json("POST", "/deployments", body=body)

    def get_deployment(self, deployment: str) -> types.Deployment:
        """Show a deployment: its config, inputs, outputs, and the output of its script."""
        return self.connection.json("GET", f"/deployments/{self.connection.segment(deployment)}")

    def delete_deployment(self, deployment: str) -> None:
        """Delete a deployment without a stack; a request that the host has not taken is withdrawn."""
        self.connection.read("DELETE", f"/deployments/{self.connection.segment(deployment)}")

    def store_config(self, body: types.StoreConfigBody) -> types.Config:
        """Store a config that deployments can run. A repeat with the same id changes nothing."""
        return self.connection.json("POST", "/configs", body=body)

    def get_deployment_output(self, deployment: str, name: str) -> bytes:
        """Download what is stored of `stdout`, `stderr` or `outputs.<name>` of the latest run, byte by byte. Hidden values are masked."""
        return self.connection.read("GET", f"/deployments/{self.connection.segment(deployment)}/output/{self.connection.segment(name)}")

    def stream_deployment_logs(
        self,
        deployment: str,
        *,
        follow: bool | None = None,
    ) -> Iterator[StreamedEvent]:
        """Stream the output of a deployment as it arrives, as server-sent events: `state`, `output` with base64 bytes, and `end`."""
        return self.connection.stream(f"/deployments/{self.connection.segment(deployment)}/logs", query={"follow": follow})

    def list_queues(
        self,
        *,
        find: str | None = None,
        sort: str | None = None,
        descending: bool | None = None,
        offset: int | None = None,
        limit: int | None = None,
    ) -> types.ListQueuesAnswer:
        """List all queues: of services, hosts and users. With `limit`, one page of them by name, those of services first. Columns: name, depth, in_flight, oldest; any but the name measures every queue."""
        return self.connection.json("GET", "/queues", query={"find": find, "sort": sort, "descending": descending, "offset": offset, "limit": limit})

    def get_queue(self, queue: str) -> types.Queue:
        """Show a queue: messages that wait, messages in flight, age of the oldest."""
        return self.connection.json("GET", f"/queues/{self.connection.segment(queue)}")

    def peek_messages(self, queue: str, *, limit: int | None = None) -> types.PeekMessagesAnswer:
        """Read the first messages of a queue without claiming them. Secrets are masked."""
        return self.connection.json("GET", f"/queues/{self.connection.segment(queue)}/messages", query={"limit": limit})

    def publish_messages(self, queue: str, body: types.PublishMessagesBody) -> types.PublishMessagesAnswer:
        """Publish messages to a queue of a user or a host. A queue of a user is created when it does not exist."""
        return self.connection.json("POST", f"/queues/{self.connection.segment(queue)}/messages", body=body)

    def purge_queue(self, queue: str) -> None:
        """Remove all messages of a queue. Requests that a deployment waits for stay."""
        self.connection.read("DELETE", f"/queues/{self.connection.segment(queue)}/messages")

    def watch_queue(self, queue: str) -> Iterator[StreamedEvent]:
        """Stream each message of a queue as it arrives, as server-sent events."""
        return self.connection.stream(f"/queues/{self.connection.segment(queue)}/watch")

    def post_measurements(self, body: types.PostMeasurementsBody) -> types.PostMeasurementsAnswer:
        """Post a batch of measurements. A repeat with the same `id` adds nothing. For hosts and credentials the server sets the labels of the place (stack, group, member, host). A batch with a mistake is refused as a whole."""
        return self.connection.json("POST", "/metrics", body=body)

    def list_series(
        self,
        *,
        name: str | None = None,
        label: str | Sequence[str] | None = None,
        limit: int | None = None,
    ) -> types.ListSeriesAnswer:
        """List the series of measurements. `label=NAME=VALUE`, which may be repeated, selects series by label."""
        return self.connection.json("GET", "/metrics", query={"name": name, "label": label, "limit": limit})

    def aggregate_measurements(
        self,
        name: str,
        *,
        label: str | Sequence[str] | None = None,
        by: str | Sequence[str] | None = None,
        aggregate: str | None = None,
        granularity: int | None = None,
        from_: str | None = None,
        to: str | None = None,
    ) -> types.AggregateMeasurementsAnswer:
        """Aggregate the measurements of a name over labels and time. `by` gives a result for each value of a label."""
        return self.connection.json("GET", f"/metrics/{self.connection.segment(name)}", query={"label": label, "by": by, "aggregate": aggregate, "granularity": granularity, "from": from_, "to": to})

    def list_alarms(
        self,
        *,
        stack: str | None = None,
        state: Literal["ok", "alarm", "insufficient data"] | None = None,
    ) -> types.ListAlarmsAnswer:
        """List alarms."""
        return self.connection.json("GET", "/alarms", query={"stack": stack, "state": state})

    def get_alarm(self, alarm: str) -> types.Alarm:
        """Read an alarm, by its id or unique name."""
        return self.connection.json("GET", f"/alarms/{self.connection.segment(alarm)}")

    def set_alarm_state(self, alarm: str, body: types.SetAlarmStateBody) -> types.Alarm:
        """Set the state of an alarm, for a test or to reset an event alarm. The actions for that state run."""
        return self.connection.json("POST", f"/alarms/{self.connection.segment(alarm)}/state", body=body)

    def get_alarm_series(self, alarm: str, *, periods: int | None = None) -> types.AlarmSeries:
        """Read the latest values that an alarm compares with its threshold, one for each complete period."""
        return self.connection.json("GET", f"/alarms/{self.connection.segment(alarm)}/series", query={"periods": periods})

    def get_alarm_history(self, alarm: str, *, limit: int | None = None) -> types.AlarmHistory:
        """List the latest changes and actions of an alarm, newest first."""
        return self.connection.json("GET", f"/alarms/{self.connection.segment(alarm)}/history", query={"limit": limit})

    def create_credential(self, body: types.CreateCredentialBody) -> types.CreateCredentialAnswer:
        """Create a credential for a program: with few rights, in one stack and everything nested in it. The answer shows the token and the keys once."""
        return self.connection.json("POST", "/credentials", body=body)

    def list_credentials(self) -> types.ListCredentialsAnswer:
        """List the credentials of programs."""
        return self.connection.json("GET", "/credentials")

    def delete_credential(self, credential: str) -> None:
        """Revoke a credential. It stops working at once."""
        self.connection.read("DELETE", f"/credentials/{self.connection.segment(credential)}")

    def create_image(self, body: types.CreateImageBody) -> types.Image:
        """Add an image: its name, where machines fetch it, its checksum and its size. An image cannot be changed."""
        return self.connection.json("POST", "/images", body=body)

    def list_images(self) -> types.ListImagesAnswer:
        """List the images."""
        return self.connection.json("GET", "/images")

    def get_image(self, image: str) -> types.Image:
        """Show an image, by name or id."""
        return self.connection.json("GET", f"/images/{self.connection.segment(image)}")

    def delete_image(self, image: str) -> None:
        """Remove an image. Machines that have it on their disks keep it."""
        self.connection.read("DELETE", f"/images/{self.connection.segment(image)}")

    def get_image_content(self, image: str) -> bytes:
        """Read the raw content of an image that the server keeps, by name or id."""
        return self.connection.read("GET", f"/images/{self.connection.segment(image)}/content")

    def get_project_quota(self, project: str) -> types.ProjectQuota:
        """Show the limits of a project, by id or name, and what it uses. Other projects than the own one are for operators."""
        return self.connection.json("GET", f"/projects/{self.connection.segment(project)}/quota")

    def set_project_quota(self, project: str, body: types.SetProjectQuotaBody) -> types.ProjectQuota:
        """Set limits of a project; null sets the default. A limit below what the project uses removes nothing and refuses only more. For operators."""
        return self.connection.json("POST", f"/projects/{self.connection.segment(project)}/quota", body=body)

    def list_dead_letters(
        self,
        *,
        queue: str | None = None,
        limit: int | None = None,
        after: str | None = None,
        messages: bool | None = None,
    ) -> types.ListDeadLettersAnswer:
        """List dead letters, oldest first: messages that could not be processed."""
        return self.connection.json("GET", "/dead-letters", query={"queue": queue, "limit": limit, "after": after, "messages": messages})

    def purge_dead_letters(
        self,
        *,
        queue: str | None = None,
        all: bool | None = None,
    ) -> types.PurgeDeadLettersAnswer:
        """Purge all dead letters of a queue or, with all=true, of every queue."""
        return self.connection.json("DELETE", "/dead-letters", query={"queue": queue, "all": all})

    def get_dead_letter(self, id: str) -> types.DeadLetter:
        """Show a dead letter: its reason, its attempts and the message."""
        return self.connection.json("GET", f"/dead-letters/{self.connection.segment(id)}")

    def delete_dead_letter(self, id: str) -> None:
        """Purge a dead letter."""
        self.connection.read("DELETE", f"/dead-letters/{self.connection.segment(id)}")

    def replay_dead_letter(
        self,
        id: str,
        body: types.ReplayDeadLetterBody | None = None,
    ) -> types.ReplayDeadLetterAnswer:
        """Replay a dead letter: send it again to the end of its original queue. `data` changes its data first, as a JSON merge patch (RFC 7396)."""
        return self.connection.json("POST", f"/dead-letters/{self.connection.segment(id)}/replay", body=body)

    def list_events(
        self,
        *,
        after: str | None = None,
        types: str | Sequence[str] | None = None,
        subject_prefix: str | None = None,
        project: str | None = None,
        stack: str | Sequence[str] | None = None,
        tag: str | Sequence[str] | None = None,
        group: str | Sequence[str] | None = None,
        host: str | Sequence[str] | None = None,
        filters: str | None = None,
        before: str | None = None,
        limit: int | None = None,
    ) -> types.ListEventsAnswer:
        """List events in the order in which they were stored, as a page or, with Accept: text/event-stream, as a stream. Starts after the event in `after` or Last-Event-ID; `beginning` starts at the oldest stored event. When the log has removed that event, `gap` says so: in a stream, as an item of the type `gap`. An item of the type `position` names the id to continue after."""
        return self.connection.json("GET", "/events", query={"after": after, "types": types, "subject_prefix": subject_prefix, "project": project, "stack": stack, "tag": tag, "group": group, "host": host, "filters": filters, "before": before, "limit": limit})

    def stream_events(
        self,
        *,
        after: str | None = None,
        types: str | Sequence[str] | None = None,
        subject_prefix: str | None = None,
        project: str | None = None,
        stack: str | Sequence[str] | None = None,
        tag: str | Sequence[str] | None = None,
        group: str | Sequence[str] | None = None,
        host: str | Sequence[str] | None = None,
        filters: str | None = None,
        before: str | None = None,
        limit: int | None = None,
    ) -> Iterator[StreamedEvent]:
        """List events in the order in which they were stored, as a page or, with Accept: text/event-stream, as a stream. Starts after the event in `after` or Last-Event-ID; `beginning` starts at the oldest stored event. When the log has removed that event, `gap` says so: in a stream, as an item of the type `gap`. An item of the type `position` names the id to continue after."""
        return self.connection.stream("/events", query={"after": after, "types": types, "subject_prefix": subject_prefix, "project": project, "stack": stack, "tag": tag, "group": group, "host": host, "filters": filters, "before": before, "limit": limit})

    def create_subscription(self, body: types.CreateSubscriptionBody) -> types.CreateSubscriptionAnswer:
        """Create a subscription: events are sent to a webhook (signed as Standard Webhooks define), a queue, an exchange of RabbitMQ, a subject of NATS, mail, or a config that runs on hosts. Only this answer contains the secret."""
        return self.connection.json("POST", "/subscriptions", body=body)

    def list_subscriptions(self) -> types.ListSubscriptionsAnswer:
        """List the subscriptions of the project."""
        return self.connection.json("GET", "/subscriptions")

    def get_subscription(self, id: str) -> types.Subscription:
        """Show a subscription: the state of its deliveries and the number of waiting events."""
        return self.connection.json("GET", f"/subscriptions/{self.connection.segment(id)}")

    def delete_subscription(self, id: str) -> None:
        """Delete a subscription."""
        self.connection.read("DELETE", f"/subscriptions/{self.connection.segment(id)}")

    def pause_subscription(self, id: str) -> types.Subscription:
        """Pause a subscription: its events wait in the log."""
        return self.connection.json("POST", f"/subscriptions/{self.connection.segment(id)}/pause")

    def resume_subscription(self, id: str) -> types.Subscription:
        """Resume a paused or disabled subscription. It receives what it missed, in order per subject."""
        return self.connection.json("POST", f"/subscriptions/{self.connection.segment(id)}/resume")

    def retry_subscription(self, id: str) -> types.Subscription:
        """Attempt all that waits for the listener now."""
        return self.connection.json("POST", f"/subscriptions/{self.connection.segment(id)}/retry")

    def test_subscription(self, id: str) -> types.TestSubscriptionAnswer:
        """Send a test event to the listener, and show its answer. A webhook that has not agreed to receive events is asked first."""
        return self.connection.json("POST", f"/subscriptions/{self.connection.segment(id)}/test")

    def rotate_subscription_secret(
        self,
        id: str,
        body: types.RotateSubscriptionSecretBody | None = None,
    ) -> types.RotateSubscriptionSecretAnswer:
        """Replace the secret of a subscription. Requests have a signature with each secret until the previous one expires. Only this answer contains the new secret."""
        return self.connection.json("POST", f"/subscriptions/{self.connection.segment(id)}/rotate-secret", body=body)

    def replay_subscription(
        self,
        id: str,
        body: types.ReplaySubscriptionBody,
    ) -> types.ReplaySubscriptionAnswer:
        """Send the stored events of a range again: from an event id or time, to another or the newest event."""
        return self.connection.json("POST", f"/subscriptions/{self.connection.segment(id)}/replay", body=body)

    def confirm_subscription_by_link(
        self,
        id: str,
        body: Any | None = None,
        *,
        expires: int,
        signature: str,
    ) -> None:
        """Confirm a subscription with the address that its listener has received. Needs no token. The header WebHook-Allowed-Rate limits the requests per minute."""
        self.connection.read("GET", f"/subscriptions/{self.connection.segment(id)}/confirm", query={"expires": expires, "signature": signature}, body=body)

    def confirm_subscription(self, id: str, body: Any | None = None, *, expires: int, signature: str) -> None:
        """Confirm a subscription with the address that its listener has received. Needs no token. The header WebHook-Allowed-Rate limits the requests per minute."""
        self.connection.read("POST", f"/subscriptions/{self.connection.segment(id)}/confirm", query={"expires": expires, "signature": signature}, body=body)

    def list_subscription_attempts(
        self,
        id: str,
        *,
        limit: int | None = None,
    ) -> types.ListSubscriptionAttemptsAnswer:
        """List the latest requests to the listener, the newest first: time, event, status, error and duration."""
        return self.connection.json("GET", f"/subscriptions/{self.connection.segment(id)}/attempts", query={"limit": limit})

    def list_subscription_deliveries(self, id: str) -> types.ListSubscriptionDeliveriesAnswer:
        """List the latest deliveries of a subscription, with all attempts."""
        return self.connection.json("GET", f"/subscriptions/{self.connection.segment(id)}/deliveries")

    def replay_subscription_delivery(self, id: str, delivery: str) -> types.Delivery:
        """Send a delivery again."""
        return self.connection.json("POST", f"/subscriptions/{self.connection.segment(id)}/deliveries/{self.connection.segment(delivery)}/replay")

    def create_workflow(self, body: types.CreateWorkflowBody) -> types.ListWorkflowsAnswer:
        """Store the workflows of a text of the Mistral language, all of them or none. A refusal names every mistake."""
        return self.connection.json("POST", "/workflows", body=body)

    def list_workflows(self) -> types.ListWorkflowsAnswer:
        """List the workflows of the project."""
        return self.connection.json("GET", "/workflows")

    def get_workflow(self, workflow: str) -> types.Workflow:
        """Show a workflow by name or id."""
        return self.connection.json("GET", f"/workflows/{self.connection.segment(workflow)}")

    def delete_workflow(self, workflow: str) -> None:
        """Delete a workflow. Its executions stay."""
        self.connection.read("DELETE", f"/workflows/{self.connection.segment(workflow)}")

    def create_cron_trigger(self, body: types.CreateCronTriggerBody) -> types.CronTrigger:
        """Start a workflow at the times of a cron expression. It needs a pattern or a first time."""
        return self.connection.json("POST", "/cron_triggers", body=body)

    def list_cron_triggers(self) -> types.ListCronTriggersAnswer:
        """List the cron triggers of the project."""
        return self.connection.json("GET", "/cron_triggers")

    def get_cron_trigger(self, name: str) -> types.CronTrigger:
        """Show a cron trigger by name or id."""
        return self.connection.json("GET", f"/cron_triggers/{self.connection.segment(name)}")

    def delete_cron_trigger(self, name: str) -> None:
        """Delete a cron trigger of a client. Its executions stay."""
        self.connection.read("DELETE", f"/cron_triggers/{self.connection.segment(name)}")

    def create_execution(self, body: types.CreateExecutionBody) -> types.Execution:
        """Start an execution of a workflow."""
        return self.connection.json("POST", "/executions", body=body)

    def list_executions(
        self,
        *,
        workflow: str | None = None,
        limit: int | None = None,
    ) -> types.ListExecutionsAnswer:
        """List the executions of the project, the newest first."""
        return self.connection.json("GET", "/executions", query={"workflow": workflow, "limit": limit})

    def get_execution(self, id: str) -> types.GetExecutionAnswer:
        """Show an execution and the runs of its tasks."""
        return self.connection.json("GET", f"/executions/{self.connection.segment(id)}")

    def act_on_execution(self, id: str, body: types.ActOnExecutionBody) -> types.Execution:
        """Act on an execution: pause, resume, cancel, rerun or skip a failed task, complete a task that waits for a client, or delete an ended execution."""
        return self.connection.json("POST", f"/executions/{self.connection.segment(id)}/action", body=body)

    def upload_image(
        self,
        body: bytes | IO[bytes],
        *,
        name: str,
        sha256: str | None = None,
        format: Literal["raw", "qcow2"] | None = None,
    ) -> types.Image:
        """Add an image whose content is the body, raw or qcow2. The server keeps it as raw content, and serves it to machines."""
        return self.connection.json("POST", "/images/upload", query={"name": name, "sha256": sha256, "format": format}, body=body)
