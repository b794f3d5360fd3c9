/** Series for the alerts: what Prometheus has of a process that is well, and of one that has the fault of an alert. */

export interface Fault {
  /** Series of the faulty process, in place of the healthy ones or beside them; promtool's notation. */
  readonly series: Readonly<Record<string, string>>;
  /** Whether all processes of the release have it. */
  readonly isOfAll?: boolean;
  /** What the alert is about; "nothing" has no names. */
  readonly about?: "instance" | "release" | "nothing";
  /** Further labels of the alert. */
  readonly more?: Readonly<Record<string, string>>;
  /** The summary; INSTANCE stands for the process. */
  readonly says: string;
}

/** An hour and more, at 15 s. */
const LONG = 300;
const steady = (value: number | string) => `${value}x${LONG}`;
const growing = (step: number) => `0+${step}x${LONG}`;
const REQUESTS = "apiserver_request_total";
const SLOW = "apiserver_request_duration_seconds_bucket";
const STORE = "etcd_request_duration_seconds_bucket";
const EVENTS = "apiserver_watch_event_latency_seconds_bucket";
const TURNS = "apiserver_turn_duration_seconds";
const REVISION = 'apiserver_watch_cache_revision{job="keelson"}';
const RELOADS = "apiserver_authorization_config_controller_automatic_reload_last_timestamp_seconds";
const END =
  'apiserver_certificate_expiration_timestamp_seconds{job="keelson",certificate="serving"}';
const LEADS = 'leader_election_master_status{job="keelson-controllers",name="keelson-controllers"}';
const DAY = 86_400;

/** All observations within the first bucket, or all beyond it. */
function buckets(metric: string, labels: string, isSlow: boolean): Record<string, string> {
  return {
    [`${metric}{job="keelson",${labels}le="0.1"}`]: isSlow ? steady(0) : growing(100),
    [`${metric}{job="keelson",${labels}le="2"}`]: growing(100),
    [`${metric}{job="keelson",${labels}le="+Inf"}`]: growing(100),
  };
}

export const HEALTHY: Readonly<Record<string, string>> = {
  'up{job="keelson"}': steady(1),
  'up{job="keelson-controllers"}': steady(1),
  'up{job="keelson-etcd"}': steady(1),
  'process_start_time_seconds{job="keelson"}': steady(100),
  'process_open_fds{job="keelson"}': steady(100),
  'process_max_fds{job="keelson"}': steady(1_048_576),
  [`${REQUESTS}{job="keelson",code="200"}`]: growing(1_000),
  [`${REQUESTS}{job="keelson",code="500"}`]: steady(3),
  [`${REQUESTS}{job="keelson",code="429"}`]: steady(3),
  ...buckets(SLOW, 'verb="GET",', false),
  ...buckets(STORE, "", false),
  ...buckets(EVENTS, 'stage="total",', false),
  'etcd_request_errors_total{job="keelson"}': steady(2),
  [REVISION]: growing(10),
  'apiserver_freshness_timeouts_total{job="keelson"}': steady(1),
  'apiserver_watch_cache_reloads_total{job="keelson"}': steady(1),
  'apiserver_watch_cache_events_dropped_early_total{job="keelson"}': steady(0),
  'apiserver_authorization_webhook_cache_errors_total{job="keelson"}': steady(0),
  'apiserver_storage_corrupt_objects{job="keelson"}': steady(0),
  'keelson_embedded_store_no_space{job="keelson",reason="quota"}': steady(0),
  'keelson_embedded_store_no_space{job="keelson",reason="disk"}': steady(0),
  'keelson_embedded_store_used_bytes{job="keelson"}': steady(50),
  'keelson_embedded_store_quota_bytes{job="keelson"}': steady(100),
  'keelson_embedded_store_damaged_records_total{job="keelson"}': steady(1),
  [`${TURNS}_bucket{job="keelson",le="0.25"}`]: growing(10),
  [`${TURNS}_count{job="keelson"}`]: growing(10),
  'apiserver_certificate_reloads_total{job="keelson",result="failure"}': steady(1),
  [`${RELOADS}{job="keelson",status="failure"}`]: steady(100),
  [`${RELOADS}{job="keelson",status="success"}`]: steady(200),
  [END]: steady(90 * DAY),
  'nodejs_eventloop_lag_p99_seconds{job="keelson"}': steady(0.01),
  'keelson_thread_held_seconds{job="keelson"}': steady(0.1),
  'apiserver_audit_error_total{job="keelson",plugin="log",reason="full"}': steady(1),
  'apiserver_audit_waiting{job="keelson"}': steady(10),
  // One of two leads, and here all have the same series.
  [LEADS]: steady(0.5),
  'etcd_server_has_leader{job="keelson-etcd"}': steady(1),
  'etcd_mvcc_db_total_size_in_bytes{job="keelson-etcd"}': steady(1_000),
  'etcd_server_quota_backend_bytes{job="keelson-etcd"}': steady(10_000),
};

export const FAULTS: Readonly<Record<string, Fault>> = {
  KeelsonReplicaDown: {
    series: { 'up{job="keelson"}': steady(0) },
    more: { job: "keelson" },
    says: "INSTANCE does not answer",
  },
  KeelsonDown: {
    series: { 'up{job="keelson"}': steady(0) },
    isOfAll: true,
    about: "nothing",
    says: "No replica answers",
  },
  KeelsonReleaseDown: {
    series: { 'up{job="keelson"}': steady(0) },
    isOfAll: true,
    about: "release",
    says: "No replica of try in staging answers",
  },
  KeelsonRestarts: {
    series: { 'process_start_time_seconds{job="keelson"}': "100x100 200x5 300x5 400x80" },
    more: { job: "keelson" },
    says: "INSTANCE was started 3 times within half an hour",
  },
  KeelsonErrors: {
    series: { [`${REQUESTS}{job="keelson",code="500"}`]: growing(1_000) },
    says: "INSTANCE answers 50% of its requests with an error of its own",
  },
  KeelsonSlow: {
    series: buckets(SLOW, 'verb="GET",', true),
    more: { verb: "GET" },
    says: "One of a hundred GET requests at INSTANCE takes more than 1.981 s",
  },
  KeelsonRequestsRejected: {
    series: { [`${REQUESTS}{job="keelson",code="429"}`]: growing(30) },
    says: "INSTANCE rejects 2 requests a second, for there are too many",
  },
  KeelsonStoreErrors: {
    series: { 'etcd_request_errors_total{job="keelson"}': growing(30) },
    says: "INSTANCE: 2 requests to etcd fail each second",
  },
  KeelsonStoreSlow: {
    series: buckets(STORE, "", true),
    says: "INSTANCE: one of a hundred requests to etcd takes more than 1.981 s",
  },
  KeelsonViewBehind: {
    series: { [REVISION]: steady(7) },
    says: "The view of INSTANCE is 1793 revisions behind",
  },
  KeelsonWatchesLate: {
    series: buckets(EVENTS, 'stage="total",', true),
    says: "INSTANCE: one of a hundred events is with its client 1.981 s after its commit, or later",
  },
  KeelsonConsistentReadsFail: {
    series: { 'apiserver_freshness_timeouts_total{job="keelson"}': growing(1) },
    says: "INSTANCE could not bring its view up to date for 20 reads",
  },
  KeelsonViewReloaded: {
    series: { 'apiserver_watch_cache_reloads_total{job="keelson"}': growing(1) },
    says: "INSTANCE loaded its view anew: its watches were ended and clients list again",
  },
  KeelsonHistoryTooShort: {
    series: { 'apiserver_watch_cache_events_dropped_early_total{job="keelson"}': growing(1) },
    says: "INSTANCE drops events before --watch-cache-history: watches may have to list again",
  },
  KeelsonRedisErrors: {
    series: { 'apiserver_authorization_webhook_cache_errors_total{job="keelson"}': growing(10) },
    says: "INSTANCE cannot use Redis: every decision that it has forgotten is asked of the webhook",
  },
  KeelsonCorruptObjects: {
    series: { 'apiserver_storage_corrupt_objects{job="keelson"}': steady(2) },
    says: "2 stored objects cannot be read",
  },
  KeelsonStoreFull: {
    series: { 'keelson_embedded_store_no_space{job="keelson",reason="disk"}': steady(1) },
    more: { reason: "disk" },
    says: "The embedded store of INSTANCE takes no writes but deletes: disk",
  },
  KeelsonStoreFilling: {
    series: { 'keelson_embedded_store_used_bytes{job="keelson"}': steady(90) },
    says: "The embedded store of INSTANCE uses 90% of its quota; beyond that it takes no writes",
  },
  KeelsonStoreDamaged: {
    series: { 'keelson_embedded_store_damaged_records_total{job="keelson"}': growing(1) },
    says: "The embedded store of INSTANCE has records that are not what was written",
  },
  KeelsonReloadFailed: {
    series: { [`${RELOADS}{job="keelson",status="failure"}`]: steady(300) },
    more: { files: "an authorization configuration" },
    says: "INSTANCE was given an authorization configuration that it cannot use and goes on with the last good ones",
  },
  KeelsonCertificateEnds: {
    series: { [END]: steady(10 * DAY + 2_700) },
    more: { certificate: "serving" },
    says: "The certificate serving of INSTANCE ends in 10d 0h 0m 0s",
  },
  KeelsonCertificateEndsSoon: {
    series: { [END]: steady(DAY + 2_700) },
    more: { certificate: "serving" },
    says: "The certificate serving of INSTANCE ends in 1d 0h 0m 0s",
  },
  KeelsonEventLoopLate: {
    series: { 'nodejs_eventloop_lag_p99_seconds{job="keelson"}': steady(0.5) },
    says: "INSTANCE is busy for 0.5 s at a time: every request waits",
  },
  KeelsonThreadHeld: {
    series: { 'keelson_thread_held_seconds{job="keelson"}': steady(4) },
    says: "One turn held the thread of INSTANCE for 4 s: nobody was answered meanwhile",
  },
  KeelsonTurnsLong: {
    series: { [`${TURNS}_count{job="keelson"}`]: growing(12) },
    says: "Requests held the thread of INSTANCE 80 times for more than 0.25 s within ten minutes",
  },
  KeelsonAuditLost: {
    series: { 'apiserver_audit_error_total{job="keelson",plugin="log",reason="full"}': growing(1) },
    says: "INSTANCE dropped 40 audit records",
  },
  KeelsonAuditBehind: {
    series: { 'apiserver_audit_waiting{job="keelson"}': steady(9_000) },
    says: "9000 audit records of INSTANCE wait for their backends; soon they are dropped",
  },
  KeelsonOutOfFiles: {
    series: { 'process_max_fds{job="keelson"}': steady(110) },
    says: "INSTANCE has 90.91% of the files open that it may have; beyond that nobody can connect",
  },
  KeelsonControllersDown: {
    series: { 'up{job="keelson-controllers"}': steady(0) },
    more: { job: "keelson-controllers" },
    says: "The control loops INSTANCE do not answer",
  },
  KeelsonControllersIdle: {
    series: { [LEADS]: steady(0) },
    isOfAll: true,
    about: "release",
    more: { name: "keelson-controllers" },
    says: "0 processes of try in staging lead the control loops, where one must",
  },
  KeelsonEtcdMemberDown: {
    series: { 'up{job="keelson-etcd"}': steady(0) },
    more: { job: "keelson-etcd" },
    says: "etcd member INSTANCE does not answer",
  },
  KeelsonEtcdNoLeader: {
    series: { 'etcd_server_has_leader{job="keelson-etcd"}': steady(0) },
    says: "etcd member INSTANCE knows no leader",
  },
  KeelsonEtcdFilling: {
    series: { 'etcd_mvcc_db_total_size_in_bytes{job="keelson-etcd"}': steady(9_000) },
    says: "etcd member INSTANCE has used 90% of its quota; at 100 % all writes are refused",
  },
};
