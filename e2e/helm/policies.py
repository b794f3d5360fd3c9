"""The policy controller's rules, installed and used with the Python client.

    policies.py KUBECONFIG MANIFESTS NAMESPACE

MANIFESTS is a YAML stream as Helm renders it, without custom objects' definitions (the test has seen to
those). Prints one JSON object: what became of each use.
"""
import json
import sys

import yaml
from kubernetes import client, config, dynamic

kubeconfig, manifests, namespace = sys.argv[1:]
api = config.new_client_from_config(kubeconfig)
core = client.CoreV1Api(api)
anything = dynamic.DynamicClient(api)


def install():
    with open(manifests, encoding="utf-8") as stream:
        for written in filter(None, yaml.safe_load_all(stream)):
            resource = anything.resources.get(api_version=written["apiVersion"], kind=written["kind"])
            resource.create(body=written, namespace=namespace if resource.namespaced else None)


def config_map(name, entries, **labels):
    data = {f"entry-{at}": str(at) for at in range(entries)}
    return {"metadata": {"name": name, "labels": labels}, "data": data}


def refusal(name, entries):
    try:
        core.create_namespaced_config_map(namespace, config_map(name, entries))
        return None
    except client.ApiException as error:
        status = json.loads(error.body)
        return {"code": error.status, "reason": status["reason"], "message": status["message"]}


install()
made, _, headers = core.create_namespaced_config_map_with_http_info(namespace, config_map("small", 2))
_, _, quiet = core.create_namespaced_config_map_with_http_info(
    namespace, config_map("owned", 2, owner="me")
)
refused = refusal("large", 4)
limits = anything.resources.get(api_version="policies.example.com/v1", kind="EntryLimit")
[limit] = limits.get().items
limits.patch(
    name=limit.metadata.name,
    body={"spec": {"max": 4}},
    content_type="application/merge-patch+json",
)
print(
    json.dumps(
        {
            "labels": made.metadata.labels,
            "annotations": made.metadata.annotations,
            "warning": headers.get("Warning"),
            "warning_of_owned": quiet.get("Warning"),
            "refused": refused,
            "refused_with_more_allowed": refusal("large", 4),
        }
    )
)
