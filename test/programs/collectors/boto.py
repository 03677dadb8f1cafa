"""Reads the metadata of a host with AWS's own client, which signs with version 4: URL KEY SECRET STACK RESOURCE."""

import json
import sys

import boto3

url, key, secret, stack, resource = sys.argv[1:]
client = boto3.client(
    "cloudformation",
    endpoint_url=url,
    aws_access_key_id=key,
    aws_secret_access_key=secret,
    region_name="RegionOne",
)
detail = client.describe_stack_resource(StackName=stack, LogicalResourceId=resource)["StackResourceDetail"]
print(json.dumps({"type": detail["ResourceType"], "metadata": json.loads(detail["Metadata"])}))
