"""Controls one machine of the lab with sushy, an independent Redfish client, and prints the results as JSON."""

import json
import sys
import time

import sushy

url, username, password, system_id = sys.argv[1:5]


def power_is(system, expected):
    end = time.monotonic() + 20
    while time.monotonic() < end:
        system.refresh(force=True)
        if system.power_state == expected:
            return True
        time.sleep(0.05)
    return False


def walk(auth):
    root = sushy.Sushy(url + "/redfish/v1", auth=auth)
    system = root.get_system(system_id)
    seen = {
        "systems": len(root.get_system_collection().get_members()),
        "memory": system.memory_summary.size_gib,
        "cpus": system.processors.summary.count,
        "nics": len(system.ethernet_interfaces.get_members()),
        "resets": sorted(reset.value for reset in system.get_allowed_reset_system_values()),
    }
    system.reset_system(sushy.ResetType.ON)
    seen["on"] = power_is(system, sushy.PowerState.ON)
    system.set_system_boot_options(
        target=sushy.BootSource.UEFI_HTTP,
        enabled=sushy.BootSourceOverrideEnabled.ONCE,
        http_boot_uri="http://127.0.0.1:1/image",
    )
    system.refresh(force=True)
    seen["boot"] = [system.boot.target.value, system.boot.enabled.value, system.boot.http_boot_uri]
    manager = root.get_manager(system_id.replace("Systems", "Managers"))
    media = [*system.virtual_media.get_members(), *manager.virtual_media.get_members()]
    seen["inserted"] = []
    for drive in media:
        drive.insert_media("http://127.0.0.1:1/image.iso")
        drive.refresh(force=True)
        seen["inserted"].append(drive.inserted)
        drive.eject_media()
        drive.refresh(force=True)
        seen["inserted"].append(drive.inserted)
    system.reset_system(sushy.ResetType.FORCE_OFF)
    seen["off"] = power_is(system, sushy.PowerState.OFF)
    return seen


print(
    json.dumps(
        {
            "session": walk(sushy.auth.SessionAuth(username, password)),
            "basic": walk(sushy.auth.BasicAuth(username, password)),
        }
    )
)
