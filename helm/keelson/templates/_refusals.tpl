{{/*
Values of which each is well, and which cannot work together: a sentence for each, instead of pods that never start. Every part
gives one complaint a line; all of them are said at once.
*/}}

{{- define "keelson.refusals" -}}
{{- $wrong := list -}}
{{- range $part := list "names" "rollout" "flags" "etcd" "redis" "service" "outside" "certificates" "configuration" "monitoring" "resources" -}}
{{- range include (printf "keelson.wrong.%s" $part) $ | splitList "\n" -}}
{{- with trim . }}{{ $wrong = append $wrong . }}{{ end -}}
{{- end -}}
{{- end -}}
{{- if $wrong }}{{ fail (printf "\n- %s" (join "\n- " $wrong)) }}{{ end -}}
{{- end -}}

{{- define "keelson.wrong.names" -}}
{{- if not (regexMatch "^[a-z]" (include "keelson.fullname" .)) }}
the name {{ include "keelson.fullname" . }} is no name of a Service, which begins with a letter: fullnameOverride gives another
{{- end }}
{{- $own := list "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/component" "app.kubernetes.io/version" "app.kubernetes.io/managed-by" "app.kubernetes.io/part-of" "helm.sh/chart" }}
{{- range $of, $labels := dict "commonLabels" .Values.commonLabels "podLabels" .Values.podLabels "controllers.podLabels" .Values.controllers.podLabels }}
{{- range $name, $_ := $labels }}
{{- if has $name $own }}
{{ $of }}: {{ $name }} is set by the chart, whose selectors rely on it
{{- end }}
{{- end }}
{{- end }}
{{- if regexMatch "[:@][^/]*$" .Values.image.repository }}
image.repository: {{ quote .Values.image.repository }} has a tag or a digest, for which there are image.tag and image.digest
{{- end }}
{{- end -}}

{{- define "keelson.wrong.rollout" -}}
{{- with .Values.rollout }}
{{- if and (eq (include "keelson.amount" .maxSurge) "0") (eq (include "keelson.amount" .maxUnavailable) "0") }}
rollout.maxSurge and rollout.maxUnavailable are both 0: no replica could ever be replaced
{{- end }}
{{- end }}
{{- with .Values.autoscaling }}
{{- if and .enabled (gt (int .minReplicas) (int .maxReplicas)) }}
autoscaling.minReplicas is above autoscaling.maxReplicas
{{- end }}
{{- if and .enabled (not (dig "requests" "cpu" "" $.Values.resources)) }}
autoscaling aims at a share of resources.requests.cpu, which is not set
{{- end }}
{{- end }}
{{- if and .Values.podDisruptionBudget.enabled (eq (include "keelson.amount" .Values.podDisruptionBudget.maxUnavailable) "0") }}
podDisruptionBudget.maxUnavailable is 0: no drain of a node would ever come to its end
{{- end }}
{{- end -}}

{{/* Of a number or a percentage, without its sign. */}}
{{- define "keelson.amount" -}}
{{- include "keelson.number" . | trimSuffix "%" -}}
{{- end -}}

{{- define "keelson.wrong.flags" -}}
{{- $own := list "data-dir" "bind-address" "secure-port" "advertise-address" "serving-names" "etcd-servers" "etcd-prefix" "etcd-cafile" "etcd-certfile" "etcd-keyfile" "run-controllers" "tls-cert-file" "tls-private-key-file" "root-ca-file" "optional-root-ca-file" "metrics-bind-address" "shutdown-delay-duration" "shutdown-grace-period" "shutdown-watch-termination-grace-period" "vendor" }}
{{- range $of, $flags := dict "server.extraFlags" .Values.server.extraFlags "controllers.extraFlags" .Values.controllers.extraFlags }}
{{- range $name, $_ := $flags }}
{{- if has $name $own }}
{{ $of }}: --{{ $name }} is set by the chart, whose probes, Service and certificates rely on it; there is a value for it
{{- else if not (regexMatch "^[a-z][a-z0-9-]*$" $name) }}
{{ $of }}: {{ quote $name }} is no flag's name, which has small letters, digits and dashes, and none of those before it
{{- end }}
{{- end }}
{{- end }}
{{- if and .Values.controllers.extraFlags (not .Values.controllers.separate) }}
controllers.extraFlags is for controllers.separate=true: the loops of the replicas take server.extraFlags
{{- end }}
{{- range .Values.server.extraEnv }}
{{- if or (eq .name "POD_IP") (and (eq .name "NODE_OPTIONS") $.Values.heapMegabytes) }}
server.extraEnv: {{ .name }} is set by the chart
{{- end }}
{{- end }}
{{- $volumes := list "data" "tmp" }}
{{- range .Values.server.extraVolumes }}{{ $volumes = append $volumes .name }}{{ end }}
{{- range .Values.server.extraVolumeMounts }}
{{- if not (has .name $volumes) }}
server.extraVolumeMounts: no volume of server.extraVolumes has the name {{ quote .name }}
{{- end }}
{{- end }}
{{- with .Values.server.auditLogPath }}
{{- $isWritable := or (eq . "-") (hasPrefix "/var/lib/keelson/" .) (hasPrefix "/tmp/" .) }}
{{- range $mount := $.Values.server.extraVolumeMounts }}
{{- if hasPrefix (printf "%s/" $mount.mountPath) $.Values.server.auditLogPath }}{{ $isWritable = true }}{{ end }}
{{- end }}
{{- if and (not $isWritable) (dig "readOnlyRootFilesystem" false $.Values.securityContext) }}
server.auditLogPath: {{ quote . }} is in no volume, and nothing else can be written; "-" is standard output
{{- end }}
{{- end }}
{{- end -}}

{{- define "keelson.wrong.etcd" -}}
{{- $etcd := .Values.etcd }}
{{- range $etcd.endpoints }}
{{- if not (regexMatch "^https?://[^/, ]+$" .) }}
etcd.endpoints: {{ quote . }} is not http://host:port or https://host:port
{{- else if and $etcd.tls.secretName (hasPrefix "http://" .) }}
etcd.tls.secretName: {{ quote . }} of etcd.endpoints is without TLS
{{- end }}
{{- end }}
{{- if $etcd.bundled.enabled }}
{{- range $name, $value := dict "endpoints" $etcd.endpoints "tls.secretName" $etcd.tls.secretName "auth.username" $etcd.auth.username }}
{{- if $value }}
etcd.{{ $name }} is for an etcd of your own, and etcd.bundled.enabled brings one: only one of them
{{- end }}
{{- end }}
{{- else if .Values.networkPolicy.enabled }}
{{- range $etcd.endpoints }}
{{- if and (regexMatch ":[0-9]+$" .) (not (hasSuffix (printf ":%s" (include "keelson.number" $.Values.networkPolicy.etcdPort)) .)) }}
networkPolicy.etcdPort is {{ include "keelson.number" $.Values.networkPolicy.etcdPort }}, so nothing would come to {{ . }}
{{- end }}
{{- end }}
{{- end }}
{{- if and $etcd.auth.username (not $etcd.auth.passwordSecretName) }}
etcd.auth.username needs etcd.auth.passwordSecretName
{{- else if and $etcd.auth.passwordSecretName (not $etcd.auth.username) }}
etcd.auth.passwordSecretName needs etcd.auth.username
{{- end }}
{{- if not (hasPrefix "/" $etcd.prefix) }}
etcd.prefix: {{ quote $etcd.prefix }} does not begin with "/"
{{- end }}
{{- end -}}

{{- define "keelson.wrong.redis" -}}
{{- with .Values.redis }}
{{- if and .url .bundled.enabled }}
redis.url is for a Redis of your own, and redis.bundled.enabled brings one: only one of them
{{- end }}
{{- if and .url (not (regexMatch "^rediss?://[^/, ]+" .url)) }}
redis.url: {{ quote .url }} is not redis://host:port or rediss://host:port
{{- end }}
{{- if and .caSecretName (not (hasPrefix "rediss://" .url)) }}
redis.caSecretName is for a redis.url that begins with rediss://
{{- end }}
{{- if and .passwordSecretName (not .url) }}
redis.passwordSecretName needs redis.url
{{- end }}
{{- if and .url $.Values.networkPolicy.enabled (regexMatch ":[0-9]+(/[0-9]*)?$" .url) (not (regexMatch (printf ":%s(/[0-9]*)?$" (include "keelson.number" $.Values.networkPolicy.redisPort)) .url)) }}
networkPolicy.redisPort is {{ include "keelson.number" $.Values.networkPolicy.redisPort }}, so nothing would come to {{ .url }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "keelson.wrong.service" -}}
{{- with .Values.service }}
{{- if and .externalTrafficPolicy (eq .type "ClusterIP") }}
service.externalTrafficPolicy is for the types NodePort and LoadBalancer
{{- end }}
{{- if and .nodePort (eq .type "ClusterIP") }}
service.nodePort is for the types NodePort and LoadBalancer
{{- end }}
{{- range $name, $value := dict "loadBalancerClass" .loadBalancerClass "loadBalancerSourceRanges" .loadBalancerSourceRanges }}
{{- if and $value (ne $.Values.service.type "LoadBalancer") }}
service.{{ $name }} is for the type LoadBalancer
{{- end }}
{{- end }}
{{- if and (eq .ipFamilyPolicy "SingleStack") (gt (len .ipFamilies) 1) }}
service.ipFamilies has two, and service.ipFamilyPolicy is SingleStack
{{- else if and (eq .ipFamilyPolicy "") (gt (len .ipFamilies) 1) }}
service.ipFamilies has two, for which service.ipFamilyPolicy has to be PreferDualStack or RequireDualStack
{{- end }}
{{- if and (or (has "IPv6" .ipFamilies) (eq .ipFamilyPolicy "RequireDualStack")) (regexMatch "^[0-9.]+$" $.Values.server.bindAddress) }}
server.bindAddress: on {{ $.Values.server.bindAddress }} nothing comes over IPv6, which service.ipFamilies or service.ipFamilyPolicy ask for; "::" takes both
{{- end }}
{{- end }}
{{- end -}}

{{- define "keelson.wrong.outside" -}}
{{- with .Values.ingress }}
{{- if and .enabled (not (regexMatch "^[a-z0-9*]([a-z0-9.-]*[a-z0-9])?$" .host)) }}
ingress.host: {{ quote .host }} is no host name
{{- end }}
{{- end }}
{{- with .Values.gateway }}
{{- if and .enabled (not .parentRefs) }}
gateway.parentRefs is needed with gateway.enabled
{{- end }}
{{- end }}
{{- end -}}

{{- define "keelson.wrong.certificates" -}}
{{- with .Values.certificates }}
{{- if and .secretName (ne .source "secret") }}
certificates.secretName is for certificates.source=secret, and the source is {{ .source }}
{{- end }}
{{- if and (eq .source "certManager") (regexMatch "^[0-9]+h$" .certManager.duration) (regexMatch "^[0-9]+h$" .certManager.renewBefore) }}
{{- if ge (trimSuffix "h" .certManager.renewBefore | int) (trimSuffix "h" .certManager.duration | int) }}
certificates.certManager.renewBefore is not shorter than certificates.certManager.duration
{{- end }}
{{- end }}
{{- range .extraNames }}
{{- if regexMatch "[/ ]" . }}
certificates.extraNames: {{ quote . }} is neither a name nor an address
{{- end }}
{{- end }}
{{- end }}
{{- range splitList "," .Values.server.serviceClusterIPRange }}
{{- if not (regexMatch "^[0-9a-fA-F.:]+/[0-9]+$" (trim .)) }}
server.serviceClusterIPRange: {{ trim . | quote }} is no block of addresses, such as 10.0.0.0/24
{{- end }}
{{- end }}
{{- if and .Values.serviceAccountKeys.verificationKeys (not .Values.serviceAccountKeys.secretName) }}
serviceAccountKeys.verificationKeys needs serviceAccountKeys.secretName
{{- end }}
{{- end -}}

{{- define "keelson.wrong.configuration" -}}
{{- with .Values.configuration }}
{{- if and .authorization .authorizationModes }}
configuration.authorization and configuration.authorizationModes: only one of them
{{- end }}
{{- $files := .existingSecretFiles }}
{{- range $mode, $value := dict "Webhook" "authorizationWebhook" "ABAC" "authorizationPolicy" }}
{{- $isThere := or (get $.Values.configuration $value) (has $value $files) }}
{{- if and (has $mode $.Values.configuration.authorizationModes) (not $isThere) }}
configuration.authorizationModes: {{ $mode }} needs configuration.{{ $value }}
{{- else if and $isThere (not (has $mode $.Values.configuration.authorizationModes)) }}
configuration.{{ $value }} needs {{ $mode }} among configuration.authorizationModes
{{- end }}
{{- end }}
{{- if and .existingSecret (not .existingSecretFiles) }}
configuration.existingSecret needs configuration.existingSecretFiles: which files it holds
{{- else if and .existingSecretFiles (not .existingSecret) }}
configuration.existingSecretFiles needs configuration.existingSecret
{{- end }}
{{- if .existingSecret }}
{{- range $value, $_ := include "keelson.configurationFiles" $ | fromYaml }}
{{- if get $.Values.configuration $value }}
configuration.{{ $value }}: with configuration.existingSecret it would be in no file; put it into that Secret
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "keelson.wrong.monitoring" -}}
{{- with .Values.monitoring }}
{{- if and .token .tokenSecretName }}
monitoring.token and monitoring.tokenSecretName: only one of them
{{- end }}
{{- if and .token $.Values.configuration.existingSecret }}
monitoring.token: with configuration.existingSecret the replicas would not know it; put a token of the group system:monitoring into that Secret's tokens.csv, and name a Secret with it in monitoring.tokenSecretName
{{- end }}
{{- end }}
{{- end -}}

{{- define "keelson.wrong.resources" -}}
{{- $limit := include "keelson.mebibytes" (dig "limits" "memory" "" .Values.resources | toString) }}
{{- if and .Values.heapMegabytes $limit }}
{{- if ge (int .Values.heapMegabytes) (int $limit) }}
heapMegabytes is not below resources.limits.memory: the kernel would end a replica before its heap is full
{{- end }}
{{- end }}
{{- end -}}

{{/* Of a quantity in Gi or Mi; "" for others. */}}
{{- define "keelson.mebibytes" -}}
{{- if regexMatch "^[0-9]+Gi$" . -}}
{{- mul (trimSuffix "Gi" . | int) 1024 -}}
{{- else if regexMatch "^[0-9]+Mi$" . -}}
{{- trimSuffix "Mi" . -}}
{{- end -}}
{{- end -}}
