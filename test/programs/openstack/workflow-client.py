"""Uses python-mistralclient as it is: ad hoc actions, environments, reports, actions of tasks, and what is refused.

Arguments: the address of the identity API, the password. Prints JSON.
"""
import json
import sys
import time

from keystoneauth1 import session
from keystoneauth1.identity import v3
from mistralclient.api import client

auth_url, password = sys.argv[1:]
domain = {"user_domain_name": "Default", "project_domain_name": "Default"}
auth = v3.Password(auth_url=auth_url, username="admin", password=password, project_name="admin", **domain)
mistral = client.client(
    session=session.Session(auth=auth),
    auth_type="keystone",
    mistral_url=auth_url.replace("/identity/v3", "/workflow/v2"),
)


def refusal(call):
    try:
        call()
    except Exception as error:
        return str(error)
    return None


actions = "version: '2.0'\ngreet: {base: std.echo, input: [who], base-input: {output: 'hi <% $.who %>'}}\n"
workflows = """version: '2.0'
inner: {output: {said: <% task(a).result %>}, tasks: {a: {action: greet who=<% env().who %>}}}
outer:
  output: {said: <% task(a).result.said %>}
  tasks:
    a: {workflow: inner, on-success: {publish: {global: {g: 1}}, next: b}}
    b: {action: std.echo output=1}
"""
seen = {}
seen["created"] = [[each.name, each.input, each.is_system] for each in mistral.actions.create(actions)]
seen["repeated"] = refusal(lambda: mistral.actions.create(actions))
mistral.actions.update(actions)
mistral.actions.update(actions, id="greet")
seen["definition"] = mistral.actions.get("greet").definition == actions
seen["listed"] = [each.name for each in mistral.actions.list()]
seen["wrong_action"] = mistral.actions.validate("version: '2.0'\nx: {base: std.ecko}")
seen["valid"] = mistral.workflows.validate(workflows)
mistral.workflows.create(workflows)
mistral.workflows.update(workflows, id="outer")
mistral.environments.create(name="e", variables={"who": "them"})
mistral.environments.update(name="e", variables={"who": "you"}, description="d")
seen["environments"] = [[each.name, each.variables, each.description] for each in mistral.environments.list()]
execution = mistral.executions.create("outer", workflow_input={}, env="e")
deadline = time.monotonic() + 60
while mistral.executions.get(execution.id).state == "RUNNING" and time.monotonic() < deadline:
    time.sleep(0.2)
shown = mistral.executions.get(execution.id)
seen["execution"] = [shown.state, json.loads(shown.output), json.loads(shown.published_global)]
report = mistral.executions.get_report(execution.id, errors_only=False)
seen["statistics"] = report["statistics"]
root = report["root_workflow_execution"]
seen["tree"] = [
    [task["name"], task["state"], [below["name"] for below in task["workflow_executions"]]]
    for task in root["task_executions"]
]
seen["tree_of_errors"] = mistral.executions.get_report(execution.id)["root_workflow_execution"]["task_executions"]
seen["below"] = [each.workflow_name for each in mistral.executions.get_ex_sub_executions(execution.id)]
tasks = {each.name: each for each in mistral.tasks.list(execution.id)}
seen["below_task"] = [each.workflow_name for each in mistral.tasks.get_task_sub_executions(tasks["a"].id)]
action = mistral.action_executions.list(tasks["b"].id)[0]
seen["action"] = [action.id == tasks["b"].id + ".1.0", action.name, action.state]
seen["output"] = json.loads(mistral.action_executions.get(action.id).output)
seen["refused"] = [
    refusal(call)
    for call in (
        lambda: mistral.action_executions.create("std.noop"),
        lambda: mistral.action_executions.delete(action.id),
        lambda: mistral.action_executions.list(),
        lambda: mistral.tasks.list(),
        lambda: mistral.actions.delete("std.echo"),
        lambda: mistral.workbooks.list(),
        lambda: mistral.event_triggers.list(),
        lambda: mistral.code_sources.list(),
        lambda: mistral.dynamic_actions.list(),
        lambda: mistral.members.list("outer", "workflow"),
    )
]
mistral.executions.delete(execution.id)
mistral.environments.delete("e")
mistral.actions.delete("greet")
for name in ("outer", "inner"):
    mistral.workflows.delete(name)
seen["left"] = [[each.name for each in mistral.actions.list() if not each.is_system], mistral.environments.list()]
print(json.dumps(seen))
