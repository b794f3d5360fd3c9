/** What callers of `startKeelson` give and get. These types are part of the package. */
/// <reference lib="esnext.disposable" preserve="true" />

export interface KeelsonUser {
  readonly name: string;
  /** "system:masters" may do everything; without a group or a role binding a user may do little. */
  readonly groups?: readonly string[];
}

/** An object, a YAML or JSON text of one or more objects, or the path of a file or folder of such texts. */
export type Manifest = string | object;

export interface KeelsonOptions {
  /** Flags of `keelson serve` by name, without dashes: `{ "feature-gates": "WatchList=false" }`. */
  readonly flags?: Readonly<Record<string, string | number | boolean>>;
  /** Users with a token, besides the administrator. */
  readonly users?: readonly KeelsonUser[];
  /** Objects that are there when it has started: definitions and namespaces first, whatever the order here. */
  readonly manifests?: readonly Manifest[];
  /**
   * Where it runs. A child has a processor of its own and ends with this process, however that ends;
   * in this process it starts faster and can be debugged. Default "process".
   */
  readonly runsIn?: "process" | "child";
  /** Whether its log goes to standard error. Default false. */
  readonly logs?: boolean;
  /** How long the start may take, in milliseconds. Default 30,000. */
  readonly deadlineMs?: number;
}

/** How somebody reaches the API. */
export interface KeelsonAccess {
  readonly url: string;
  /** PEM: whom to trust. */
  readonly ca: string;
  /** A kubeconfig as text, with everything in it. */
  readonly kubeconfig: string;
}

export interface Keelson extends KeelsonAccess, AsyncDisposable {
  /** The administrator's certificate and key, PEM. */
  readonly cert: string;
  readonly key: string;
  /** Path of the administrator's kubeconfig, which goes with the API. */
  readonly kubeconfigPath: string;
  /** The same API for one of `users`. @throws {RangeError} nobody has that name */
  as(name: string): KeelsonAccess & { readonly token: string };
  /** Ends it and removes what it kept. */
  stop(): Promise<void>;
}
