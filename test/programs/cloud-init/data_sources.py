"""Prints what cloud-init's data sources read at a metadata address, as one JSON object."""

import json
import os
import sys

from cloudinit import distros, helpers
from cloudinit.sources import DataSourceEc2, DataSourceNoCloud, DataSourceOpenStack

base, folder = sys.argv[1], sys.argv[2]
for name in ("lib", "run"):
    os.makedirs(os.path.join(folder, name), exist_ok=True)
paths = helpers.Paths({"cloud_dir": folder + "/lib", "run_dir": folder + "/run", "templates_dir": folder})
distro = distros.fetch("debian")("debian", {}, paths)
patient = {"max_wait": 10, "timeout": 10, "retries": 1}
config = {
    "datasource_list": ["Ec2", "OpenStack", "NoCloud"],
    "datasource": {
        "Ec2": {"metadata_urls": [base], "strict_id": False, **patient},
        "OpenStack": {"metadata_urls": [base], **patient},
        "NoCloud": {"seedfrom": base + "/nocloud/"},
    },
}
# The firmware of this computer does not name OpenStack.
DataSourceOpenStack.detect_openstack = lambda **_: True


def read(kind):
    source = kind(config, distro, paths)
    source.distro = distro
    if not source._get_data():
        sys.exit(kind.__name__ + " found nothing")
    hostname = source.get_hostname()
    user_data = source.get_userdata_raw()
    return {
        "id": source.get_instance_id(),
        "hostname": str(getattr(hostname, "hostname", hostname)),
        "keys": source.get_public_ssh_keys(),
        "user_data": user_data.decode() if isinstance(user_data, bytes) else user_data,
        "metadata": source.metadata,
        "network": getattr(source, "network_config", None),
    }


print(
    json.dumps(
        {
            "ec2": read(DataSourceEc2.DataSourceEc2),
            "openstack": read(DataSourceOpenStack.DataSourceOpenStack),
            "nocloud": read(DataSourceNoCloud.DataSourceNoCloudNet),
        },
        default=str,
    )
)
