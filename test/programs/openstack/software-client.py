"""Stores a config, runs it on a server and deletes both with python-heatclient. Prints what it saw as JSON."""

import json
import sys
import time

from heatclient import exc
from heatclient.client import Client
from heatclient.common import deployment_utils
from keystoneauth1 import loading

url, password, server = sys.argv[1:]
auth = loading.get_plugin_loader("password").load_from_options(
    auth_url=f"{url}/identity/v3", username="admin", password=password, project_name="admin",
    user_domain_name="Default", project_domain_name="Default")
session = loading.session.Session().load_from_options(auth=auth)
heat = Client("1", session=session)

script = '#!/bin/sh\necho "hello $who"\nprintf "%s" "$who" > "$heat_outputs_path.greeted"\n'
config = heat.software_configs.create(
    name="greet", group="script", config=script,
    inputs=[{"name": "who", "default": "you"}], outputs=[{"name": "greeted"}])
# As `openstack software deployment create` does.
derived = heat.software_configs.create(**deployment_utils.build_derived_config_params(
    "UPDATE", heat.software_configs.get(config.id), "run", {"who": "world"}, server, "NO_SIGNAL"))
made = heat.software_deployments.create(config_id=derived.id, server_id=server, action="UPDATE", status="IN_PROGRESS")

deadline = time.monotonic() + 60
while (shown := heat.software_deployments.get(made.id)).status == "IN_PROGRESS":
    if time.monotonic() > deadline:
        sys.exit(f"the deployment is still in progress: {shown.to_dict()}")
    time.sleep(0.2)

metadata = heat.software_deployments.metadata(server)
listed = [each.id for each in heat.software_deployments.list(server_id=server)]
same = heat.software_deployments.update(made.id, config_id=derived.id)
try:
    heat.software_configs.delete(config_id=derived.id)
    refused = None
except exc.HTTPConflict as error:
    refused = str(error)
heat.software_deployments.delete(deployment_id=made.id)
for each in (derived.id, config.id):
    heat.software_configs.delete(config_id=each)
print(json.dumps({
    "config": config.to_dict(), "made": made.to_dict(), "shown": shown.to_dict(), "metadata": metadata,
    "listed": listed == [made.id], "status_after_equal_update": same.status, "refused": refused,
    "left": [each.id for each in heat.software_configs.list() if each.id in (derived.id, config.id)],
}))
