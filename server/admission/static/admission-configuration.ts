/**
 * AdmissionConfiguration: the file of `--admission-control-config-file`. It gives plugins the settings
 * that have no flags: the server's credentials for webhooks, the folder of rules from files, and what single
 * plugins are told (plugin-settings.ts). Parsed and checked here; the files that it names are not opened.
 */
import { dirname, isAbsolute, join } from "node:path";
import type { Naming } from "../../api/naming.js";
import { type Members, membersOf, optionalText } from "../../client/members.js";
import { parseYaml } from "../../codec/yaml.js";
import {
  type PluginSettings,
  readSettings,
  refuseOtherType,
  refuseUnknown,
  SETTINGS_PLUGINS,
  type SettingsPlugin,
} from "./plugin-settings.js";

/** Plugins that evaluate users' rules, and the kind of their configurations. */
const CONFIGURATION_KINDS = {
  MutatingAdmissionPolicy: "MutatingAdmissionPolicyConfiguration",
  MutatingAdmissionWebhook: "WebhookAdmissionConfiguration",
  ValidatingAdmissionPolicy: "ValidatingAdmissionPolicyConfiguration",
  ValidatingAdmissionWebhook: "WebhookAdmissionConfiguration",
} as const;

export type RulePlugin = keyof typeof CONFIGURATION_KINDS;

export const RULE_PLUGINS = Object.keys(CONFIGURATION_KINDS) as readonly RulePlugin[];

export interface RulePluginConfiguration {
  /** Absolute; "" = none. */
  readonly kubeConfigFile: string;
  /** Absolute; "" = none. */
  readonly staticManifestsDir: string;
}

export interface AdmissionConfiguration {
  readonly rules: ReadonlyMap<RulePlugin, RulePluginConfiguration>;
  readonly settings: Readonly<PluginSettings>;
}

export const NO_CONFIGURATION: AdmissionConfiguration = { rules: new Map(), settings: {} };

/** The file is unusable; the message is one line that names it. */
export class AdmissionConfigurationError extends Error {
  override readonly name = "AdmissionConfigurationError";
}

export interface ConfigurationSurroundings {
  readonly naming: Naming;
  /** Reads a file that the configuration names. @throws {Error} */
  readonly readText: (path: string) => string;
  /** Whether rules may come from files. */
  readonly allowsManifests: boolean;
}

/** @throws {AdmissionConfigurationError} */
export function parseAdmissionConfiguration(
  path: string,
  surroundings: ConfigurationSurroundings,
): AdmissionConfiguration {
  try {
    return readPlugins(parse(surroundings.readText(path)), dirname(path), surroundings);
  } catch (error) {
    const why = (error as Error).message.replace(/\s+/g, " ");
    throw new AdmissionConfigurationError(`${path}: ${why}`, { cause: error });
  }
}

function readPlugins(
  file: Members,
  directory: string,
  surroundings: ConfigurationSurroundings,
): AdmissionConfiguration {
  const { groupDomain } = surroundings.naming;
  const versions = [`apiserver.config.${groupDomain}/v1`, `apiserver.${groupDomain}/v1alpha1`];
  refuseOtherType(file, versions, "AdmissionConfiguration");
  refuseUnknown(file, ["apiVersion", "kind", "plugins"], "");
  const plugins = file.plugins ?? [];
  if (!Array.isArray(plugins)) throw new Error("plugins: expected a list");
  const rules = new Map<RulePlugin, RulePluginConfiguration>();
  const settings: PluginSettings = {};
  const seen = new Set<string>();
  for (const [index, entry] of plugins.entries()) {
    const where = `plugins[${index}]`;
    const plugin = membersOf(entry, where);
    refuseUnknown(plugin, ["name", "path", "configuration"], where);
    const name = optionalText(plugin, "name", where) ?? "";
    if (!isRulePlugin(name) && !isSettingsPlugin(name)) {
      const known = [...RULE_PLUGINS, ...SETTINGS_PLUGINS].sort().join(", ");
      const quoted = JSON.stringify(name);
      throw new Error(`${where}.name: ${quoted} takes no configuration here; ${known} do`);
    }
    if (seen.has(name)) throw new Error(`${where}.name: ${name} stands there twice`);
    seen.add(name);
    const configuration = configurationOf(plugin, where, directory, surroundings);
    if (configuration === undefined) continue;
    const at = `${where}.configuration`;
    if (isRulePlugin(name)) {
      rules.set(name, readConfiguration(configuration, at, name, surroundings));
    } else {
      readSettings(name, configuration, at, settings, surroundings.naming);
    }
  }
  return { rules, settings };
}

/** The configuration is inline or in a separate file. */
function configurationOf(
  plugin: Members,
  where: string,
  directory: string,
  { readText }: ConfigurationSurroundings,
): Members | undefined {
  if (plugin.configuration !== undefined && plugin.configuration !== null) {
    return membersOf(plugin.configuration, `${where}.configuration`);
  }
  const path = optionalText(plugin, "path", where) ?? "";
  if (path === "") return undefined;
  return parse(readText(isAbsolute(path) ? path : join(directory, path)));
}

function readConfiguration(
  configuration: Members,
  where: string,
  plugin: RulePlugin,
  { naming, allowsManifests }: ConfigurationSurroundings,
): RulePluginConfiguration {
  const kind = CONFIGURATION_KINDS[plugin];
  const isWebhook = kind === "WebhookAdmissionConfiguration";
  refuseOtherType(configuration, [`apiserver.config.${naming.groupDomain}/v1`], kind);
  const own = isWebhook ? ["kubeConfigFile"] : [];
  refuseUnknown(configuration, ["apiVersion", "kind", "staticManifestsDir", ...own], where);
  const pathOf = (member: string): string => {
    const path = optionalText(configuration, member, where) ?? "";
    if (path === "" || isAbsolute(path)) return path;
    const value = JSON.stringify(path);
    throw new Error(`${where}.${member}: Invalid value: ${value}: must be an absolute file path`);
  };
  const staticManifestsDir = pathOf("staticManifestsDir");
  if (staticManifestsDir !== "" && !allowsManifests) {
    const gate = "requires the ManifestBasedAdmissionControlConfig feature gate to be enabled";
    throw new Error(`${where}.staticManifestsDir: Forbidden: staticManifestsDir ${gate}`);
  }
  return { kubeConfigFile: isWebhook ? pathOf("kubeConfigFile") : "", staticManifestsDir };
}

function parse(text: string): Members {
  const { value, repeatedKeys } = parseYaml(text);
  const [repeated] = repeatedKeys;
  if (repeated !== undefined) throw new Error(repeated);
  return membersOf(value, "");
}

function isRulePlugin(name: string): name is RulePlugin {
  return (RULE_PLUGINS as readonly string[]).includes(name);
}

function isSettingsPlugin(name: string): name is SettingsPlugin {
  return (SETTINGS_PLUGINS as readonly string[]).includes(name);
}
