/**
 * The main switches of the chart and what they can be set to, and a choice of combinations in which
 * every pair of settings occurs: faults of templates sit where two switches meet.
 */
import type { Values } from "./chart.js";

/** The settings of one switch, by a name for messages. */
type Switch = Readonly<Record<string, Values>>;

export const SWITCHES: Readonly<Record<string, Switch>> = {
  etcd: {
    bundled: { "etcd.bundled.enabled": true },
    external: { "etcd.endpoints": ["http://etcd-0:2379", "http://etcd-1:2379"] },
    tls: {
      "etcd.endpoints": ["https://etcd-0:2379"],
      "etcd.tls.secretName": "outside-etcd",
      "etcd.auth.username": "keelson",
      "etcd.auth.passwordSecretName": "outside-etcd-password",
    },
  },
  redis: {
    none: {},
    external: {
      "redis.url": "rediss://redis:6379",
      "redis.passwordSecretName": "outside-redis",
      "redis.caSecretName": "outside-redis-ca",
    },
    bundled: { "redis.bundled.enabled": true },
  },
  certificates: {
    shared: {},
    secret: { "certificates.source": "secret", "certificates.secretName": "outside-tls" },
    certManager: {
      "certificates.source": "certManager",
      "certificates.certManager.issuerRef.name": "issuer",
    },
    job: { "certificates.source": "job", "certificates.clientAuthoritySecretName": "outside-ca" },
  },
  controllers: { separate: {}, inside: { "controllers.separate": false } },
  exposure: {
    none: {},
    ingress: { "ingress.enabled": true, "ingress.className": "nginx" },
    gateway: { "gateway.enabled": true },
  },
  scale: { fixed: {}, auto: { "autoscaling.enabled": true, "podDisruptionBudget.enabled": false } },
  monitoring: {
    off: {},
    on: {
      "monitoring.tokenSecretName": "outside-monitoring",
      "monitoring.serviceMonitor.enabled": true,
      "monitoring.serviceMonitor.insecureSkipVerify": true,
      "monitoring.podMonitors.enabled": true,
      "monitoring.prometheusRule.enabled": true,
      "monitoring.dashboards.enabled": true,
    },
  },
  backup: { none: {}, daily: { "backup.enabled": true } },
  network: { open: {}, policies: { "networkPolicy.enabled": true } },
  configuration: {
    none: {},
    values: {
      "configuration.authorization": "kind: AuthorizationConfiguration",
      "configuration.encryption": "kind: EncryptionConfiguration",
      "configuration.tokens": "token,user,uid",
      "serviceAccountKeys.secretName": "outside-sa",
    },
    secret: {
      "configuration.existingSecret": "outside-configuration",
      "configuration.existingSecretFiles": ["authentication", "encryption"],
    },
  },
};

export interface Combination {
  /** "etcd=bundled redis=none ..." */
  readonly name: string;
  readonly values: Values;
}

type Choice = Readonly<Record<string, string>>;

/** All of them: thousands. */
export function allCombinations(): Combination[] {
  let choices: Choice[] = [{}];
  for (const [name, settings] of Object.entries(SWITCHES)) {
    choices = choices.flatMap((choice) =>
      Object.keys(settings).map((setting) => ({ ...choice, [name]: setting })),
    );
  }
  return choices.map(toCombination);
}

/** Few in which each pair of settings of two switches occurs: the best of all is taken, until none is left. */
export function pairwiseCombinations(): Combination[] {
  const names = Object.keys(SWITCHES);
  const wanted = new Set<string>();
  for (const [index, first] of names.entries()) {
    for (const second of names.slice(index + 1)) {
      for (const a of Object.keys(SWITCHES[first] ?? {})) {
        for (const b of Object.keys(SWITCHES[second] ?? {}))
          wanted.add(`${first}=${a} ${second}=${b}`);
      }
    }
  }
  const all = allCombinations().map((combination) => ({
    combination,
    pairs: pairsOf(combination.name),
  }));
  const chosen: Combination[] = [];
  while (wanted.size > 0) {
    let best = all[0];
    let bestGain = 0;
    for (const candidate of all) {
      const gain = candidate.pairs.reduce((sum, pair) => sum + (wanted.has(pair) ? 1 : 0), 0);
      if (gain > bestGain) [best, bestGain] = [candidate, gain];
    }
    if (best === undefined || bestGain === 0) break;
    for (const pair of best.pairs) wanted.delete(pair);
    chosen.push(best.combination);
  }
  return chosen;
}

function toCombination(choice: Choice): Combination {
  const parts = Object.entries(choice);
  return {
    name: parts.map(([name, setting]) => `${name}=${setting}`).join(" "),
    values: Object.assign({}, ...parts.map(([name, setting]) => SWITCHES[name]?.[setting])),
  };
}

function pairsOf(name: string): string[] {
  const parts = name.split(" ");
  return parts.flatMap((first, index) =>
    parts.slice(index + 1).map((second) => `${first} ${second}`),
  );
}

/** Secrets that the settings above name and no template makes. */
export const OUTSIDE_SECRETS: readonly string[] = [
  ...["outside-etcd", "outside-etcd-password", "outside-redis", "outside-redis-ca", "outside-tls"],
  ...["outside-ca", "outside-sa", "outside-configuration", "outside-monitoring"],
];
