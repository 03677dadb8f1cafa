"""The client against a real server, whose login is in the environment. See test/programs/python-client.test.ts."""

from __future__ import annotations

import base64
import hashlib
import hmac
import inspect
import json
import os
import threading
import time
import typing
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from anneal_client import AnnealError, Client, by_password, by_token, from_environment, types, verify_webhook
from anneal_client.operations import Operations
from typeguard import CollectionCheckStrategy, check_type

TEMPLATE = """
heat_template_version: 2018-08-31
parameters:
  greeting: {type: string, default: hello}
resources:
  host: {type: OS::Nova::Server, properties: {flavor: baremetal, image: debian-13}}
  config:
    type: OS::Heat::SoftwareConfig
    properties:
      group: script
      outputs: [{name: answer}]
      config: {str_replace: {template: "echo GREETING; printf GREETING >$heat_outputs_path.answer", params: {GREETING: {get_param: greeting}}}}
  run: {type: OS::Heat::SoftwareDeployment, properties: {server: {get_resource: host}, config: {get_resource: config}}}
outputs:
  answer: {value: {get_attr: [run, answer]}}
"""


def assert_form(value: object, declared: typing.Any) -> None:
    check_type(value, declared, collection_check_strategy=CollectionCheckStrategy.ALL_ITEMS)


@pytest.fixture(scope="module")
def client() -> Client:
    return Client()


@pytest.fixture(scope="module")
def stack(client: Client) -> typing.Iterator[str]:
    """A stack that has run a config on a lab machine."""
    id = client.stacks.create("python", TEMPLATE)
    client.stacks.wait("python", timeout=60)
    yield id
    client.stacks.delete("python")
    assert client.stacks.wait(id, timeout=60)["stack_status"] == "DELETE_COMPLETE"


def test_reads_answer_in_their_declared_forms(client: Client, stack: str) -> None:
    """Every operation that reads without naming an object, checked against the type that it declares."""
    checked = 0
    for name, function in inspect.getmembers(Operations, inspect.isfunction):
        parameters = [each for each in inspect.signature(function).parameters.values() if each.name != "self"]
        if not name.startswith(("get_", "list_")) or any(each.kind != each.KEYWORD_ONLY for each in parameters):
            continue
        declared = typing.get_type_hints(function)["return"]
        assert_form(getattr(client, name)(), declared)
        checked += 1
    assert checked > 15


def test_objects_answer_in_their_declared_forms(client: Client, stack: str) -> None:
    [deployment] = client.list_deployments(stack=stack)["deployments"]
    assert_form(client.get_deployment(deployment["id"]), types.Deployment)
    host = next(each for each in client.list_hosts()["hosts"] if each["id"] == deployment["host_id"])
    assert client.get_host(host["name"])["id"] == host["id"]
    queue = client.get_queue(host["requests_queue"])
    assert_form(queue, types.Queue)
    assert client.get_stack_why("python")["chain"]
    assert client.list_stack_revisions("python")["revisions"]


def test_a_stack_is_created_updated_and_waited_for(client: Client, stack: str) -> None:
    assert client.stacks.outputs("python") == {"answer": "hello"}
    assert stack in [each["id"] for each in client.stacks.list()]
    client.stacks.update("python", TEMPLATE, parameters={"greeting": "goodbye"})
    assert client.stacks.wait("python", timeout=60)["stack_status"] == "UPDATE_COMPLETE"
    assert client.stacks.outputs(stack) == {"answer": "goodbye"}


def test_output_of_a_script_is_bytes_and_a_stream(client: Client, stack: str) -> None:
    deployment = client.list_deployments(stack=stack)["deployments"][0]["id"]
    output = client.get_deployment_output(deployment, "stdout")
    assert output.strip() in (b"hello", b"goodbye")
    events = list(client.stream_deployment_logs(deployment, follow=False))
    assert events[-1].name == "end"
    assert b"".join(base64.b64decode(each.data["data"]) for each in events if each.name == "output") == output


def test_a_failed_wait_says_why(client: Client) -> None:
    template = {
        "heat_template_version": "2018-08-31",
        "resources": {"never": {"type": "OS::Heat::TestResource", "properties": {"fail": True}}},
    }
    id = client.stacks.create("failing", template, disable_rollback=True)
    with pytest.raises(AnnealError, match="CREATE_FAILED"):
        client.stacks.wait("failing", timeout=60)
    assert client.list_stack_failures("failing")["failures"]
    client.stacks.delete("failing")
    assert client.stacks.wait(id, timeout=60)["stack_status"] == "DELETE_COMPLETE"


def test_a_refusal_names_code_mistakes_and_remedy(client: Client) -> None:
    with pytest.raises(AnnealError) as missing:
        client.get_host("nothing")
    assert (missing.value.code, missing.value.status) == ("NotFound", 404)
    with pytest.raises(AnnealError) as wrong:
        client.create_subscription(typing.cast(types.CreateSubscriptionBody, {"types": 3, "no": 1}))
    assert wrong.value.status == 400
    assert {each["path"] for each in wrong.value.mistakes} >= {"types", "no"}
    with pytest.raises(AnnealError, match="no name or id"):
        client.delete_host("..")


def test_logins(client: Client) -> None:
    login = from_environment()
    with pytest.raises(AnnealError) as refused:
        Client(by_password(login.url, os.environ["OS_USERNAME"], "wrong")).list_hosts()
    assert refused.value.code == "Unauthorized"
    with pytest.raises(AnnealError) as unreached:
        Client(by_password("http://127.0.0.1:1", "admin", "x")).list_hosts()
    assert (unreached.value.code, unreached.value.status) == ("Unavailable", 0)
    with pytest.raises(AnnealError, match="OS_PASSWORD: is not set"):
        from_environment({"OS_AUTH_URL": login.url, "OS_USERNAME": "admin"})
    with pytest.raises(AnnealError, match="No server to connect to"):
        from_environment({}, folder="/")
    token = client.connection._logged_in()
    by_this = Client(by_token(login.url, token))
    assert by_this.stacks.list() == client.stacks.list()
    # A token that ends is renewed, once for all calls.
    client.connection.call("DELETE", "/identity/v3/auth/tokens", headers={"x-subject-token": token})
    client.list_hosts()
    assert client.connection._logged_in() != token
    with pytest.raises(AnnealError):
        by_this.list_hosts()


def test_names_are_quoted(client: Client) -> None:
    name = f"a b/c?{uuid.uuid4().hex[:6]}"
    with pytest.raises(AnnealError) as missing:
        client.get_alarm(name)
    assert missing.value.status == 404
    assert name in missing.value.message


def test_events_continue_after_the_server_was_killed(client: Client) -> None:
    """The runner kills the server and starts it again when the file appears."""
    sign = Path(os.environ["ANNEAL_TEST_RESTART"])
    seen: list[str] = []
    id = client.stacks.create("events", {"heat_template_version": "2018-08-31", "resources": {}})
    client.stacks.wait("events", timeout=60)
    for event in client.stream_events(after="beginning", types="stack.#", stack=id):
        if event.name in ("gap", "position"):
            continue
        seen.append(event.data["id"])
        if event.data["type"] == "stack.create.completed":
            sign.touch()
            end = time.monotonic() + 60
            while sign.exists():
                assert time.monotonic() < end, "the runner did not start the server again"
                time.sleep(0.05)
            client.stacks.delete("events")
        if event.data["type"] == "stack.delete.completed":
            break
    page = client.list_events(after="beginning", types="stack.#", limit=1000)["events"]
    assert seen == [each["id"] for each in page if each.get("subject") == id]


def test_a_webhook_is_verified() -> None:
    key = os.urandom(32)
    secret = "whsec_" + base64.b64encode(key).decode()
    body = json.dumps({"id": "1", "type": "stack.create.completed"}).encode()
    sent = str(int(time.time()))
    signature = base64.b64encode(hmac.new(key, f"m1.{sent}.".encode() + body, hashlib.sha256).digest()).decode()
    headers = {"Webhook-Id": "m1", "Webhook-Timestamp": sent, "Webhook-Signature": f"v1,AAAA v1,{signature}"}
    assert verify_webhook(body, headers, secret)[0]["id"] == "1"
    other = "whsec_" + base64.b64encode(os.urandom(32)).decode()
    assert verify_webhook(body, headers, [other, secret])
    later = time.time() + 3600
    for wrong in ((body + b" ", headers, secret, None), (body, headers, other, None), (body, headers, secret, later), (body, {}, secret, None)):
        with pytest.raises(AnnealError) as refused:
            verify_webhook(wrong[0], wrong[1], wrong[2], now=wrong[3])
        assert refused.value.code == "Unauthorized"


def test_a_redirect_to_another_server_gets_no_token() -> None:
    taken: list[str] = []
    places: dict[str, str] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer()

        def do_POST(self) -> None:
            self.answer()

        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            if self.server is elsewhere:
                taken.append(self.path)
            self.send_response(307)
            self.send_header("location", places["elsewhere"])
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            return

    elsewhere, server = (ThreadingHTTPServer(("127.0.0.1", 0), Handler) for _ in range(2))
    for each in (elsewhere, server):
        threading.Thread(target=each.serve_forever, daemon=True).start()
    places["elsewhere"] = f"http://127.0.0.1:{elsewhere.server_port}/taken"
    own = f"http://127.0.0.1:{server.server_port}"
    for login in (by_password(own, "admin", "x", project="admin"), by_token(own, "secret")):
        with pytest.raises(AnnealError, match="redirects to") as refused:
            Client(login).stacks.list()
        assert refused.value.code == "Unavailable"
    assert taken == []
    for each in (elsewhere, server):
        each.shutdown()
