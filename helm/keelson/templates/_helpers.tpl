{{/* Names, labels, and the parts that several templates share. */}}

{{- define "keelson.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{- define "keelson.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "keelson.name" . -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* A number as it is written: those of a values file are floating-point ones, which would become 1e+06. */}}
{{- define "keelson.number" -}}
{{- if not (kindIs "float64" .) -}}
{{- . -}}
{{- else if eq (floor .) . -}}
{{- printf "%.0f" . -}}
{{- else -}}
{{- regexReplaceAll "0+$" (printf "%.12f" .) "" -}}
{{- end -}}
{{- end -}}

{{/* All addresses of the pod, of the families that the replicas listen on or the Service has. */}}
{{- define "keelson.anyAddress" -}}
{{ ternary "[::]" "0.0.0.0" (or (contains ":" .Values.server.bindAddress) (has "IPv6" .Values.service.ipFamilies) (hasSuffix "DualStack" .Values.service.ipFamilyPolicy)) }}
{{- end -}}

{{/* Labels that select pods: never changed by an upgrade. Takes (dict "root" $ "component" "server"). */}}
{{- define "keelson.selectorLabels" -}}
app.kubernetes.io/name: {{ include "keelson.name" .root | quote }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{/* The chart's labels and those of the values, of which "own", an object's, win over those of all objects. */}}
{{- define "keelson.labels" -}}
{{ include "keelson.selectorLabels" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/part-of: keelson
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | quote }}
{{- with merge (dict) (default dict .own) (default dict .root.Values.commonLabels) }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "keelson.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}
{{- end -}}

{{- define "keelson.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{ default (include "keelson.fullname" .) .Values.serviceAccount.name }}
{{- else -}}
{{ default "default" .Values.serviceAccount.name }}
{{- end -}}
{{- end -}}

{{/* What every pod says about itself. */}}
{{- define "keelson.podSpec" -}}
serviceAccountName: {{ include "keelson.serviceAccountName" . | quote }}
automountServiceAccountToken: {{ .Values.serviceAccount.automountToken }}
enableServiceLinks: false
{{ include "keelson.placement" . }}
{{- end -}}

{{/* Where a pod may run, and as whom. */}}
{{- define "keelson.placement" -}}
securityContext:
  {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "keelson.topologySpread" -}}
{{- if .root.Values.topologySpread.enabled }}
topologySpreadConstraints:
  {{- range $key := list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ $key }}
    whenUnsatisfiable: {{ $.root.Values.topologySpread.whenUnsatisfiable | quote }}
    labelSelector:
      matchLabels:
        {{- include "keelson.selectorLabels" $ | nindent 8 }}
  {{- end }}
{{- end }}
{{- end -}}

{{/* ---- etcd and Redis ---- */}}

{{- define "keelson.etcdEndpoints" -}}
{{- if .Values.etcd.bundled.enabled -}}
{{- $name := printf "%s-etcd" (include "keelson.fullname" .) -}}
{{- $namespace := .Release.Namespace -}}
{{- $urls := list -}}
{{- range $index := until 3 -}}
{{- $urls = append $urls (printf "http://%s-%d.%s-peers.%s.svc:2379" $name $index $name $namespace) -}}
{{- end -}}
{{- join "," $urls -}}
{{- else -}}
{{- join "," (required "etcd.endpoints is needed, or etcd.bundled.enabled=true for a trial" (empty .Values.etcd.endpoints | ternary nil .Values.etcd.endpoints)) -}}
{{- end -}}
{{- end -}}

{{- define "keelson.redisUrl" -}}
{{- if .Values.redis.bundled.enabled -}}
redis://{{ include "keelson.fullname" . }}-redis.{{ .Release.Namespace }}.svc:6379
{{- else -}}
{{- .Values.redis.url -}}
{{- end -}}
{{- end -}}

{{/* ---- files of configuration ---- */}}

{{/* value -> file and flag. What is reloaded by itself does not roll the pods. */}}
{{- define "keelson.configurationFiles" -}}
authentication: {file: authentication.yaml, flag: authentication-config, reloads: true}
authorization: {file: authorization.yaml, flag: authorization-config, reloads: true}
authorizationWebhook: {file: authorization-webhook.kubeconfig, flag: authorization-webhook-config-file, reloads: true}
authorizationPolicy: {file: authorization-policy.jsonl, flag: authorization-policy-file, reloads: false}
tokenWebhook: {file: token-webhook.kubeconfig, flag: authentication-token-webhook-config-file, reloads: true}
tokens: {file: tokens.csv, flag: token-auth-file, reloads: false}
encryption: {file: encryption.yaml, flag: encryption-provider-config, reloads: true}
tracing: {file: tracing.yaml, flag: tracing-config-file, reloads: false}
{{- end -}}

{{/* The contents of tokens.csv: those of the values and the one that scrapes. */}}
{{- define "keelson.tokens" -}}
{{- with .Values.configuration.tokens }}{{ trimSuffix "\n" . }}
{{ end }}
{{- with .Values.monitoring.token }}{{ . }},keelson-monitoring,keelson-monitoring,"system:monitoring"
{{ end }}
{{- end -}}

{{/* Contents by value's name, as YAML; a file of an existing Secret has "". */}}
{{- define "keelson.configurationContents" -}}
{{- $contents := dict -}}
{{- $files := include "keelson.configurationFiles" . | fromYaml -}}
{{- range $value, $file := $files -}}
{{- $text := get $.Values.configuration $value -}}
{{- if eq $value "tokens" }}{{ $text = include "keelson.tokens" $ }}{{ end -}}
{{- if $.Values.configuration.existingSecret -}}
{{- if has $value $.Values.configuration.existingSecretFiles }}{{ $_ := set $contents $value "" }}{{ end -}}
{{- else if $text -}}
{{- $_ := set $contents $value $text -}}
{{- end -}}
{{- end -}}
{{- toYaml $contents -}}
{{- end -}}

{{- define "keelson.configurationSecretName" -}}
{{ default (printf "%s-configuration" (include "keelson.fullname" .)) .Values.configuration.existingSecret }}
{{- end -}}

{{/* Digest of what only a restart takes over. */}}
{{- define "keelson.configurationDigest" -}}
{{- $files := include "keelson.configurationFiles" . | fromYaml -}}
{{- $parts := list -}}
{{- range $value, $text := include "keelson.configurationContents" . | fromYaml -}}
{{- if not (get (get $files $value) "reloads") }}{{ $parts = append $parts (printf "%s=%s" $value $text) }}{{ end -}}
{{- end -}}
{{- join "\n" $parts | sha256sum -}}
{{- end -}}

{{/* ---- flags ---- */}}

{{/* Those that serve and controllers have in common, one list item a line. */}}
{{- define "keelson.commonFlags" -}}
- {{ printf "--etcd-servers=%v" (include "keelson.etcdEndpoints" .) | quote }}
- {{ printf "--etcd-prefix=%v" .Values.etcd.prefix | quote }}
{{- if not .Values.etcd.bundled.enabled }}
{{- with .Values.etcd.tls }}
{{- if .secretName }}
{{- with .caKey }}
- {{ printf "--etcd-cafile=/etc/keelson/etcd/%v" . | quote }}
{{- end }}
{{- if .certKey }}
- {{ printf "--etcd-certfile=/etc/keelson/etcd/%v" .certKey | quote }}
- {{ printf "--etcd-keyfile=/etc/keelson/etcd/%v" .keyKey | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- with .Values.etcd.auth }}
{{- if .username }}
- {{ printf "--etcd-username=%v" .username | quote }}
- {{ printf "--etcd-password-file=/etc/keelson/etcd-password/%v" .passwordSecretKey | quote }}
{{- end }}
{{- end }}
{{- end }}
- {{ printf "--vendor=%v" .Values.server.vendor | quote }}
- {{ printf "--log-level=%v" .Values.server.logLevel | quote }}
- {{ printf "--logging-format=%v" .Values.server.logFormat | quote }}
{{- $contents := include "keelson.configurationContents" . | fromYaml }}
{{- if hasKey $contents "encryption" }}
- --encryption-provider-config=/etc/keelson/configuration/encryption.yaml
- --encryption-provider-config-automatic-reload=true
{{- end }}
{{- with .Values.serviceAccountKeys }}
{{- if .secretName }}
- {{ printf "--service-account-signing-key-file=/etc/keelson/service-account/%v" .signingKey | quote }}
{{- range .verificationKeys }}
- {{ printf "--service-account-key-file=/etc/keelson/service-account/%v" . | quote }}
{{- end }}
{{- end }}
{{- with .issuer }}
- {{ printf "--service-account-issuer=%v" . | quote }}
{{- end }}
{{- end }}
{{- with include "keelson.rootAuthorityFlag" . }}
{{ . }}
{{- end }}
{{- end -}}

{{/* A flag that is null is none: so one file of values takes back what another has set. */}}
{{- define "keelson.extraFlags" -}}
{{- range $name, $value := . }}
{{- if not (kindIs "invalid" $value) }}
{{- range $one := ternary $value (list $value) (kindIs "slice" $value) }}
- {{ printf "--%s=%s" $name (include "keelson.number" $one) | toYaml }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "keelson.serverFlags" -}}
- --data-dir=/var/lib/keelson
- {{ printf "--bind-address=%v" .Values.server.bindAddress | quote }}
- {{ printf "--secure-port=%v" (include "keelson.number" .Values.server.port) | quote }}
- --advertise-address=$(POD_IP)
- {{ printf "--serving-names=%v" (include "keelson.servingNames" .) | quote }}
{{ include "keelson.commonFlags" . }}
- {{ printf "--run-controllers=%v" (not .Values.controllers.separate) | quote }}
{{- if not .Values.controllers.separate }}
- {{ printf "--controllers=%v" (join "," .Values.controllers.loops) | quote }}
{{- end }}
- {{ printf "--shutdown-delay-duration=%vs" (include "keelson.number" .Values.shutdown.delaySeconds) | quote }}
- {{ printf "--shutdown-watch-termination-grace-period=%vs" (include "keelson.number" .Values.shutdown.watchSeconds) | quote }}
- {{ printf "--shutdown-grace-period=%vs" (include "keelson.number" .Values.shutdown.graceSeconds) | quote }}
- {{ printf "--max-requests-inflight=%v" (include "keelson.number" .Values.server.maxRequestsInflight) | quote }}
- {{ printf "--max-mutating-requests-inflight=%v" (include "keelson.number" .Values.server.maxMutatingRequestsInflight) | quote }}
- {{ printf "--goaway-chance=%v" (include "keelson.number" .Values.server.goawayChance) | quote }}
- {{ printf "--service-cluster-ip-range=%v" .Values.server.serviceClusterIPRange | quote }}
{{- if .Values.controlPlanes.enabled }}
- --enable-control-planes
{{- end }}
{{- with .Values.controlPlanes.domain }}
- {{ printf "--control-plane-domain=%v" . | quote }}
{{- end }}
{{- with .Values.server.auditLogPath }}
- {{ printf "--audit-log-path=%v" . | quote }}
{{- end }}
{{- if include "keelson.tlsSecretName" . }}
- --tls-cert-file=/etc/keelson/tls/tls.crt
- --tls-private-key-file=/etc/keelson/tls/tls.key
{{- end }}
{{- if .Values.certificates.clientAuthoritySecretName }}
- {{ printf "--client-ca-file=/etc/keelson/client-authority/%v" .Values.certificates.clientAuthoritySecretKey | quote }}
{{- end }}
{{- with .Values.configuration.authorizationModes }}
- {{ printf "--authorization-mode=%v" (join "," .) | quote }}
{{- end }}
{{- $files := include "keelson.configurationFiles" . | fromYaml }}
{{- range $value, $_ := include "keelson.configurationContents" . | fromYaml }}
{{- if ne $value "encryption" }}
- "--{{ get (get $files $value) "flag" }}=/etc/keelson/configuration/{{ get (get $files $value) "file" }}"
{{- end }}
{{- end }}
{{- with include "keelson.redisUrl" . }}
- {{ printf "--authorization-webhook-cache-redis=%v" . | quote }}
{{- end }}
{{- if not .Values.redis.bundled.enabled }}
{{- if .Values.redis.passwordSecretName }}
- {{ printf "--authorization-webhook-cache-redis-password-file=/etc/keelson/redis-password/%v" .Values.redis.passwordSecretKey | quote }}
{{- end }}
{{- if .Values.redis.caSecretName }}
- {{ printf "--authorization-webhook-cache-redis-cafile=/etc/keelson/redis-authority/%v" .Values.redis.caSecretKey | quote }}
{{- end }}
{{- end }}
{{- include "keelson.extraFlags" .Values.server.extraFlags }}
{{- end -}}

{{/* ---- volumes ---- */}}

{{/* Secret by the folder below /etc/keelson in which containers find it. Takes (dict "root" $ "isServer" true). */}}
{{- define "keelson.secretVolumes" -}}
{{- $values := .root.Values -}}
{{- $secrets := dict -}}
{{- if not $values.etcd.bundled.enabled -}}
{{- with $values.etcd.tls.secretName }}{{ $_ := set $secrets "etcd" . }}{{ end -}}
{{- with $values.etcd.auth.passwordSecretName }}{{ $_ := set $secrets "etcd-password" . }}{{ end -}}
{{- end -}}
{{- with $values.serviceAccountKeys.secretName }}{{ $_ := set $secrets "service-account" . }}{{ end -}}
{{- with include "keelson.tlsSecretName" .root }}{{ if or $.isServer (not $values.certificates.rootAuthoritySecretName) }}{{ $_ := set $secrets "tls" . }}{{ end }}{{ end -}}
{{- with $values.certificates.rootAuthoritySecretName }}{{ $_ := set $secrets "root-authority" . }}{{ end -}}
{{- $contents := include "keelson.configurationContents" .root | fromYaml -}}
{{- if ternary (not (empty $contents)) (hasKey $contents "encryption") .isServer -}}
{{- $_ := set $secrets "configuration" (include "keelson.configurationSecretName" .root) -}}
{{- end -}}
{{- if .isServer -}}
{{- with $values.certificates.clientAuthoritySecretName }}{{ $_ := set $secrets "client-authority" . }}{{ end -}}
{{- if not $values.redis.bundled.enabled -}}
{{- with $values.redis.passwordSecretName }}{{ $_ := set $secrets "redis-password" . }}{{ end -}}
{{- with $values.redis.caSecretName }}{{ $_ := set $secrets "redis-authority" . }}{{ end -}}
{{- end -}}
{{- end -}}
{{- toYaml $secrets -}}
{{- end -}}

{{- define "keelson.volumes" -}}
{{- $isServer := .isServer }}
{{- range $folder, $secret := include "keelson.secretVolumes" . | fromYaml }}
- name: {{ $folder }}
  secret:
    secretName: {{ $secret | quote }}
    defaultMode: 0440
    {{- if and (eq $folder "tls") (not $isServer) }}
    # The loops need no key, and an issuer may give no authority.
    items:
      - {key: ca.crt, path: ca.crt}
    optional: true
    {{- end }}
{{- end }}
- name: tmp
  emptyDir: {}
{{- end -}}

{{- define "keelson.volumeMounts" -}}
{{- range $folder, $_ := include "keelson.secretVolumes" . | fromYaml }}
- name: {{ $folder }}
  mountPath: "/etc/keelson/{{ $folder }}"
  readOnly: true
{{- end }}
- name: tmp
  mountPath: /tmp
{{- end -}}

{{- define "keelson.environment" -}}
- name: POD_IP
  valueFrom:
    fieldRef:
      fieldPath: status.podIP
{{- if .Values.heapMegabytes }}
- name: NODE_OPTIONS
  value: "--max-old-space-size={{ include "keelson.number" .Values.heapMegabytes }}"
{{- end }}
{{- end -}}
