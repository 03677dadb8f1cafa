"""Uses python-zaqarclient as it is with one version of the API of queues.

Arguments: the address of the identity API, the password, the version. Prints JSON.
"""
import json
import sys

from zaqarclient.queues import client

auth_url, password, version = sys.argv[1:]
options = {
    "os_username": "admin",
    "os_password": password,
    "os_project_name": "admin",
    "os_auth_url": auth_url,
    "os_user_domain_name": "Default",
    "os_project_domain_name": "Default",
    "os_service_type": "messaging",
}
conf = {"auth_opts": {"backend": "keystone", "options": options}}
url = auth_url.replace("/identity/v3", "/messaging")
queues = client.Client(url, version=float(version), conf=conf)
seen = {}
queue = queues.queue(f"of-{version.replace('.', '-')}")
queue.post([{"body": {"n": n}, "ttl": 300} for n in range(4)])
listed = list(queue.messages(echo=True))
seen["listed"] = [message.body["n"] for message in listed]
ids = [message.href.split("/")[-1].split("?")[0] for message in listed]
seen["one"] = queue.message(ids[1]).body["n"]
claim = queue.claim(ttl=300, grace=60, limit=1)
claimed = list(claim)
seen["claimed"] = [message.body["n"] for message in claimed]
claim.update(ttl=400, grace=70)
for message in claimed:
    message.delete()
claim.delete()
queue.delete_messages(ids[1])
if version == "1.0":
    queue.metadata(new_meta={"team": "ops"})
    seen["metadata"] = queue.metadata(force_reload=True)
else:
    seen["popped"] = [message.body["n"] for message in queue.pop(count=1)]
seen["counts"] = [queue.stats["messages"][name] for name in ("claimed", "free", "total")]
seen["queues"] = [each._name for each in queues.queues()]
queue.delete()
seen["left"] = [each._name for each in queues.queues()]
print(json.dumps(seen))
