"""Definitions of a file, published and shaped like such, by the Python client: the object of each lives its
life by the custom objects' API and the dynamic client, and a watch tells of it.

    python definitions.py KUBECONFIG FILE
"""
import json
import sys

from kubernetes import client, config, dynamic, watch

config.load_kube_config(config_file=sys.argv[1])
custom = client.CustomObjectsApi()
definitions = client.ApiextensionsV1Api()
api_client = client.ApiClient()

with open(sys.argv[2], encoding="utf-8") as file:
    SAMPLES = json.load(file)


def live(sample):
    body, definition = sample["object"], sample["definition"]
    group, version = body["apiVersion"].split("/")
    name = body["metadata"]["name"]
    kind = {"group": group, "version": version, "plural": sample["plural"]}
    where = {"namespace": "default"} if sample["namespaced"] else {}
    scope = "namespaced" if where else "cluster"

    def call(verb):
        return getattr(custom, f"{verb}_{scope}_custom_object")

    definitions.create_custom_resource_definition(definition)
    before = call("list")(**kind, **where)["metadata"]["resourceVersion"]
    call("create")(body=body, **kind, **where)
    # As there may be a name twice, the version is told.
    api = dynamic.DynamicClient(api_client).resources.get(api_version=body["apiVersion"], kind=body["kind"])
    applied = {**body, "metadata": {"name": name, "labels": {"color": "red"}}}
    options = {"field_manager": "definitions", "force_conflicts": True, "name": name, **where}
    assert api.server_side_apply(body=json.dumps(applied), **options).metadata.labels.color == "red"
    patch = {"metadata": {"labels": {"color": "blue"}}}
    call("patch")(name=name, body=patch, **kind, **where)
    for color, wanted in (("blue", 1), ("red", 0)):
        listed = call("list")(label_selector=f"color={color}", **kind, **where)["items"]
        assert len(listed) == wanted, listed
    call("delete")(name=name, **kind, **where)
    events, stream = [], watch.Watch()
    for event in stream.stream(call("list"), resource_version=before, timeout_seconds=30, **kind, **where):
        events.append(event["type"])
        if event["type"] == "DELETED":
            stream.stop()
    assert events == ["ADDED", "MODIFIED", "MODIFIED", "DELETED"], events
    definitions.delete_custom_resource_definition(definition["metadata"]["name"])


for one in SAMPLES:
    try:
        live(one)
    except Exception:
        print(f"not ok - {one['definition']['metadata']['name']}", flush=True)
        raise
print(f"ok - {len(SAMPLES)} definitions: created, applied, patched, listed, watched, deleted", flush=True)
