/**
 * The kinds that keep whatever they are given in one of their parts, and the requests that write a value there:
 * for e2e/poisoned-values.test.ts.
 */

/** A kind with a part that keeps whatever it is given. */
export interface Kind {
  readonly path: string;
  readonly kind: string;
  readonly apiVersion: string;
  /** The rest of an object, with a JSON text in it. */
  readonly rest: (value: string) => string;
  /** Where a JSON patch puts a value. */
  readonly place: string;
  readonly isBuiltIn: boolean;
}

export const KINDS: readonly Kind[] = [
  {
    path: "/apis/apps/v1/namespaces/default/controllerrevisions",
    kind: "ControllerRevision",
    apiVersion: "apps/v1",
    rest: (value) => `"revision":1,"data":{"n":${value}}`,
    place: "/data/n",
    isBuiltIn: true,
  },
  {
    path: "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims",
    kind: "ResourceClaim",
    apiVersion: "resource.k8s.io/v1",
    rest: (value) =>
      `"spec":{"devices":{"requests":[{"name":"a","exactly":{"deviceClassName":"c"}}],"config":[{"opaque":{"driver":"d.example.com","parameters":{"n":${value}}}}]}}`,
    place: "/spec/devices/config/0/opaque/parameters/n",
    isBuiltIn: true,
  },
  {
    path: "/apis/example.com/v1/namespaces/default/things",
    kind: "Thing",
    apiVersion: "example.com/v1",
    rest: (value) => `"n":${value}`,
    place: "/n",
    isBuiltIn: false,
  },
  {
    path: "/apis/example.com/v1/namespaces/default/things",
    kind: "Thing",
    apiVersion: "example.com/v1",
    rest: (value) => `"spec":{"deep":[{"n":${value}}]}`,
    place: "/spec/deep/0/n",
    isBuiltIn: false,
  },
];

/** Of the objects that are updated, by path. */
export const versions = new Map<string, string>();

export function textOf(
  { path, kind, apiVersion, rest }: Kind,
  name: string,
  value: string,
): string {
  const resourceVersion = versions.get(`${path}/${name}`);
  const metadata = JSON.stringify({ name, resourceVersion });
  return `{"kind":"${kind}","apiVersion":"${apiVersion}","metadata":${metadata},${rest(value)}}`;
}

export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly type: string;
  readonly body: string;
}

export interface Writer {
  readonly name: string;
  readonly isOfBuiltIns?: true;
  /** A request that writes `value`, a JSON text, into a part of `name`; `sound` is there. */
  send(kind: Kind, name: string, value: string): Sent;
}

const patch = (kind: Kind, name: string, type: string, body: string): Sent => {
  return { method: "PATCH", path: `${kind.path}/${name}`, type: `application/${type}`, body };
};

export const WRITERS: readonly Writer[] = [
  {
    name: "create",
    send: (kind, name, value) => {
      const body = textOf(kind, name, value);
      return { method: "POST", path: kind.path, type: "application/json", body };
    },
  },
  {
    name: "update",
    send: (kind, _name, value) => {
      const body = textOf(kind, "sound", value);
      return { method: "PUT", path: `${kind.path}/sound`, type: "application/json", body };
    },
  },
  {
    name: "JSON patch",
    send: (kind, _name, value) =>
      patch(
        kind,
        "sound",
        "json-patch+json",
        `[{"op":"add","path":"${kind.place}","value":${value}}]`,
      ),
  },
  {
    name: "JSON patch that tests",
    send: (kind, _name, value) =>
      patch(
        kind,
        "sound",
        "json-patch+json",
        `[{"op":"test","path":"${kind.place}","value":${value}}]`,
      ),
  },
  {
    name: "merge patch",
    send: (kind, _name, value) =>
      patch(kind, "sound", "merge-patch+json", textOf(kind, "sound", value)),
  },
  {
    name: "strategic merge patch",
    isOfBuiltIns: true,
    send: (kind, _name, value) =>
      patch(kind, "sound", "strategic-merge-patch+json", textOf(kind, "sound", value)),
  },
];

/** Writers whose text is YAML. */
export const YAML_WRITERS: readonly Writer[] = [
  {
    name: "create",
    send: (kind, name, value) => {
      const body = textOf(kind, name, value);
      return { method: "POST", path: kind.path, type: "application/yaml", body };
    },
  },
  {
    name: "update",
    send: (kind, _name, value) => {
      const body = textOf(kind, "sound", value);
      return { method: "PUT", path: `${kind.path}/sound`, type: "application/yaml", body };
    },
  },
  {
    name: "apply",
    send: (kind, name, value) => {
      const sent = patch(kind, name, "apply-patch+yaml", textOf(kind, name, value));
      return { ...sent, path: `${sent.path}?fieldManager=poisoner&force=true` };
    },
  },
];
