/**
 * A policy controller, brought as a chart by both Helms and by the Python client: its rules are in force
 * when the installation has ended, each client shows what they say, and they go with the release.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import {
  type AdmissionHook,
  openAdmissionHook,
} from "../../server/admission/testing/admission-webhook.js";
import { type ServerProcess, startServer } from "../harness/server-process.js";
import { findTool } from "../tools/find-tool.js";
import {
  HELMS,
  HELMS_OF_SLOW_TESTS,
  type HelmName,
  missingHelm,
  REPOSITORY,
  runHelm,
} from "./chart.js";
import {
  CONTROLLER,
  controllerFlags,
  playWebhooks,
  putUnderRules,
  renderController,
} from "./policy-controller.js";

const APP = join(REPOSITORY, "e2e/helm/policed-app");
const RULES = "/apis/admissionregistration.k8s.io/v1";
const KINDS = [
  "validatingadmissionpolicies",
  "validatingadmissionpolicybindings",
  "mutatingadmissionpolicies",
  "mutatingadmissionpolicybindings",
  "validatingwebhookconfigurations",
  "mutatingwebhookconfigurations",
];
const NO_OWNER = "it should have an owner";

const missing = new Map<HelmName, string | false>();
for (const helm of HELMS) missing.set(helm, await missingHelm(helm));
const [rendering] = HELMS;
const hasPython = (await findTool("python-client")) !== undefined;

interface Config {
  readonly metadata: {
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

describe("a policy controller", () => {
  let server: ServerProcess;
  let hook: AdmissionHook;

  before(async () => {
    [server, hook] = await Promise.all([startServer(), openAdmissionHook()]);
  });
  after(async () => {
    await hook?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  });

  const config = async (namespace: string, name: string) => {
    const path = `/api/v1/namespaces/${namespace}/configmaps/${name}`;
    return (await server.client.get(path)).expect(200).object as unknown as Config;
  };

  async function left(release: string): Promise<string[]> {
    const found: string[] = [];
    for (const kind of KINDS) {
      const { items } = (await server.client.get(`${RULES}/${kind}`)).expect(200);
      const names = items.map(({ metadata }) => metadata.name ?? "");
      found.push(...names.filter((name) => name.startsWith(release)));
    }
    return found;
  }

  for (const helm of HELMS_OF_SLOW_TESTS) {
    test(`${helm} installs it, is judged by it, changes its parameter, rolls back and uninstalls`, {
      skip: missing.get(helm) ?? false,
    }, async () => {
      const namespace = `under-${helm}`;
      await putUnderRules(server, namespace);
      playWebhooks(hook, true);
      const run = runner(helm, namespace, server);
      const flags = controllerFlags(hook, namespace);
      (await run(["install", "rules", CONTROLLER, ...flags])).succeeds();
      assert.equal((await left("rules")).length, 8);

      const first = (await run(["install", "app", APP])).succeeds();
      assert.match(first, new RegExp(`'rules-owner' with binding 'rules-owner': ${NO_OWNER}`));
      const { metadata } = await config(namespace, "app");
      assert.equal(metadata.labels?.under, "rules");
      assert.equal(metadata.annotations?.seen, "yes");
      const owned = ["upgrade", "app", APP, "--set", "owner=me"];
      assert.doesNotMatch((await run(owned)).succeeds(), /should have an owner/);

      const large = [...owned, "--set", "entries=4"];
      const denial =
        /configmaps "app" is forbidden: ValidatingAdmissionPolicy 'rules-entries' with binding 'rules-entries' denied request: at most 3 entries, not 4/;
      assert.match((await run(large)).fails(), denial);
      const more = ["upgrade", "rules", CONTROLLER, "--reuse-values", "--set", "entriesMax=4"];
      (await run(more)).succeeds();
      (await run(large)).succeeds();

      playWebhooks(hook, false);
      const refused = (await run(["install", "other", APP, "--set", "owner=me"])).fails();
      assert.match(
        refused,
        /admission webhook "validating.policies.example.com" denied the request: not today/,
      );
      playWebhooks(hook, true);

      (await run(["rollback", "rules", "1"])).succeeds();
      assert.match((await run([...large, "--set", "owner=you"])).fails(), denial);
      (await run(["uninstall", "rules"])).succeeds();
      assert.deepEqual(await left("rules"), []);
      (await run([...large, "--set", "entries=9"])).succeeds();
    });
  }

  test("the Python client installs it and is judged by it", {
    skip:
      missing.get(rendering) ||
      (!hasPython && "python-client is not to be had: see e2e/install-tools.sh"),
  }, async () => {
    const namespace = "under-python";
    await putUnderRules(server, namespace);
    playWebhooks(hook, true);
    const { manifests } = await renderController(rendering, "py", { server, hook }, namespace);
    const script = join(REPOSITORY, "e2e/helm/policies.py");
    const said = await python([script, server.kubeconfig, manifests, namespace]);
    const warning = `Validation failed for ValidatingAdmissionPolicy 'py-owner' with binding 'py-owner': ${NO_OWNER}`;
    assert.deepEqual(JSON.parse(said), {
      labels: { under: "py" },
      annotations: { seen: "yes" },
      warning: `299 - "${warning}"`,
      warning_of_owned: null,
      refused: {
        code: 422,
        reason: "Invalid",
        message:
          "configmaps \"large\" is forbidden: ValidatingAdmissionPolicy 'py-entries' with binding 'py-entries' denied request: at most 3 entries, not 4",
      },
      refused_with_more_allowed: null,
    });
  });
});

interface Outcome {
  /** @returns everything that was said. @throws {AssertionError} it did not */
  succeeds(): string;
  fails(): string;
}

function runner(helm: HelmName, namespace: string, { kubeconfig, dataDir }: ServerProcess) {
  const env = {
    KUBECONFIG: kubeconfig,
    HELM_CACHE_HOME: dataDir,
    HELM_CONFIG_HOME: dataDir,
    HELM_DATA_HOME: dataDir,
  };
  return async (args: readonly string[]): Promise<Outcome> => {
    const { code, stdout, stderr } = await runHelm(helm, [...args, "--namespace", namespace], env);
    const said = `${stdout}${stderr}`;
    const ended = (isGood: boolean) => {
      assert.equal(code === 0, isGood, `${helm} ${args.join(" ")}: ${said}`);
      return said;
    };
    return { succeeds: () => ended(true), fails: () => ended(false) };
  };
}

async function python(args: readonly string[]): Promise<string> {
  const path = await findTool("python-client");
  assert.ok(path !== undefined);
  return await new Promise((resolve, reject) => {
    execFile(path, args, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${error.message}\n${stderr}`));
    });
  });
}
