"""Uses python-glanceclient as it is: it learns the fields of an image from the schema, then creates, sorts and deletes.

Arguments: the address of the identity API, the password. Prints JSON.
"""
import io
import json
import sys

from glanceclient import Client
from keystoneauth1 import session
from keystoneauth1.identity import v3

auth_url, password = sys.argv[1:]
domain = {"user_domain_name": "Default", "project_domain_name": "Default"}
auth = v3.Password(auth_url=auth_url, username="admin", password=password, project_name="admin", **domain)
glance = Client("2", session=session.Session(auth=auth))

made = []
for name in ["glance-a", "glance-b"]:
    image = glance.images.create(name=name, disk_format="raw", container_format="bare", os_type="linux")
    glance.images.upload(image.id, io.BytesIO(name.encode()))
    made.append(image.id)


def names(**order):
    return [image.name for image in glance.images.list(**order) if image.name.startswith("glance-")]


try:
    list(glance.images.list(sort="bogus:asc"))
    refused = None
except Exception as error:
    refused = str(error)
result = {
    "up": names(sort="name:asc"),
    "down": names(sort_key=["name"], sort_dir=["desc"]),
    "shown": {name: glance.images.get(made[0])[name] for name in ["name", "status", "size", "os_type"]},
    "content": b"".join(glance.images.data(made[1])).decode(),
    "refused": refused,
}
for each in made:
    glance.images.delete(each)
result["left"] = names()
print(json.dumps(result))
