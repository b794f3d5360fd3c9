"""The Python client against a running server: a definition, objects of it and ConfigMaps through their
lives. Prints one line for each thing that it saw working; ends with a trace at the first that does not.

    python main.py KUBECONFIG NAMESPACE
"""
import json
import sys
import threading

import kubernetes
from kubernetes import client, config, dynamic, watch

GROUP, VERSION, PLURAL = "python.example.com", "v1", "snakes"
NAMESPACE = sys.argv[2]
OBJECTS = 25
KIND = dict(group=GROUP, version=VERSION, namespace=NAMESPACE, plural=PLURAL)

config.load_kube_config(config_file=sys.argv[1])
custom = client.CustomObjectsApi()
definitions = client.ApiextensionsV1Api()
core = client.CoreV1Api()


def snake(name, length=1):
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "Snake",
        "metadata": {"name": name, "labels": {"made-by": "python"}},
        "spec": {"length": length},
    }


def expect(error, status, call, *args, **kwargs):
    """The call fails, and with that status."""
    try:
        call(*args, **kwargs)
    except error as refused:
        assert refused.status == status, refused
        return refused.body
    raise AssertionError(f"{status} expected")


def define():
    text, integer = {"type": "string"}, {"type": "integer", "minimum": 1}
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "required": ["length"],
                "properties": {"length": integer, "color": {**text, "default": "green"}},
            },
            "status": {"type": "object", "properties": {"phase": text}},
        },
    }
    version = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
        "additionalPrinterColumns": [{"name": "Length", "type": "integer", "jsonPath": ".spec.length"}],
    }
    body = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": PLURAL, "kind": "Snake"},
            "versions": [version],
        },
    }
    made = definitions.create_custom_resource_definition(body)
    conditions = {one.type: one.status for one in made.status.conditions}
    assert conditions["Established"] == "True", conditions
    assert made.spec.versions[0].schema.open_apiv3_schema.properties["spec"].required == ["length"]


def objects():
    # The very next request: nothing is waited for.
    first = custom.create_namespaced_custom_object(body=snake("first"), **KIND)
    assert first["spec"] == {"length": 1, "color": "green"}, first
    refused = expect(
        client.ApiException, 422, custom.create_namespaced_custom_object, body=snake("bad", 0), **KIND
    )
    assert "spec.length" in refused, refused
    for index in range(OBJECTS):
        custom.create_namespaced_custom_object(body=snake(f"s{index:03}", index + 1), **KIND)
    first["spec"]["length"] = 2
    changed = custom.replace_namespaced_custom_object(name="first", body=first, **KIND)
    assert changed["metadata"]["generation"] == 2
    # What was replaced in between is a conflict.
    expect(client.ApiException, 409, custom.replace_namespaced_custom_object, name="first", body=first, **KIND)


def pages():
    names, token = [], None
    while True:
        page = custom.list_namespaced_custom_object(
            limit=7, label_selector="made-by=python", **({"_continue": token} if token else {}), **KIND
        )
        assert len(page["items"]) <= 7
        names += [item["metadata"]["name"] for item in page["items"]]
        token = page["metadata"].get("continue")
        if not token:
            break
    assert names == sorted(names) and len(names) == OBJECTS + 1, names


def status():
    body = {"spec": {"length": 9}, "status": {"phase": "Coiled"}}
    custom.patch_namespaced_custom_object_status(name="first", body=body, **KIND)
    read = custom.get_namespaced_custom_object_status(name="first", **KIND)
    assert read["status"] == {"phase": "Coiled"} and read["spec"]["length"] == 2, read


def watches(list_function, kind, make):
    """Everything that is there, then what comes, resumed once."""
    listed = list_function(**kind)
    version = listed["metadata"]["resourceVersion"] if isinstance(listed, dict) else listed.metadata.resource_version
    maker = threading.Thread(target=lambda: [make(f"watched-{at}") for at in range(3)])
    maker.start()
    seen, stream = [], watch.Watch()
    for event in stream.stream(list_function, resource_version=version, timeout_seconds=30, **kind):
        raw = event["raw_object"]
        if raw["metadata"]["name"].startswith("watched-"):
            seen.append((event["type"], raw["metadata"]["name"]))
        if len(seen) == 3:
            stream.stop()
    maker.join()
    assert seen == [("ADDED", f"watched-{at}") for at in range(3)], seen


def custom_watch():
    def make(name):
        custom.create_namespaced_custom_object(body=snake(name), **KIND)

    watches(custom.list_namespaced_custom_object, KIND, make)


def dynamic_client():
    api = dynamic.DynamicClient(client.ApiClient()).resources.get(api_version=f"{GROUP}/{VERSION}", kind="Snake")
    applied = api.server_side_apply(
        body=json.dumps(snake("applied", 3)), namespace=NAMESPACE, field_manager="python", name="applied"
    )
    owners = [entry.manager for entry in applied.metadata.managedFields]
    assert applied.spec.length == 3 and owners == ["python"], applied
    expect(
        dynamic.exceptions.ConflictError,
        409,
        api.server_side_apply,
        body=json.dumps(snake("applied", 4)),
        namespace=NAMESPACE,
        field_manager="else",
        name="applied",
    )
    api.delete(name="applied", namespace=NAMESPACE)


def built_in():
    def make(name):
        core.create_namespaced_config_map(NAMESPACE, {"metadata": {"name": name}, "data": {"a": "ä"}})

    make("settings")
    core.patch_namespaced_config_map("settings", NAMESPACE, {"data": {"b": "1", "a": None}})
    assert core.read_namespaced_config_map("settings", NAMESPACE).data == {"b": "1"}
    watches(core.list_namespaced_config_map, {"namespace": NAMESPACE}, make)
    core.delete_namespaced_config_map("settings", NAMESPACE)
    expect(client.ApiException, 404, core.read_namespaced_config_map, "settings", NAMESPACE)


def remove():
    custom.delete_namespaced_custom_object(name="first", **KIND)
    expect(client.ApiException, 404, custom.get_namespaced_custom_object, name="first", **KIND)
    custom.delete_collection_namespaced_custom_object(**KIND)
    assert custom.list_namespaced_custom_object(**KIND)["items"] == []
    definitions.delete_custom_resource_definition(f"{PLURAL}.{GROUP}")


CHECKS = [
    ("a definition is established as soon as it is created", define),
    ("objects: defaults, refusals, replacements and conflicts", objects),
    ("lists in pages of 7", pages),
    ("the status is patched by itself", status),
    ("a watch of a custom kind", custom_watch),
    ("the dynamic client: apply, and a conflict", dynamic_client),
    ("ConfigMaps: writes, patch, watch", built_in),
    ("deletion of one, of all, and of the definition", remove),
]

print(f"kubernetes {kubernetes.__version__}, Python {sys.version.split()[0]}")
for name, check in CHECKS:
    check()
    print(f"ok - {name}", flush=True)
