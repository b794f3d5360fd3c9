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
{{- if not (regexMatch "^[a-z][-a-z0-9]*$" (include "keelson.fullname" .)) }}
the name {{ include "keelson.fullname" . }} is no name of a Service, which begins with a letter and has no dot: fullnameOverride gives another
{{- end }}
{{- $own := list "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/component" "app.kubernetes.io/version" "app.kubernetes.io/managed-by" "app.kubernetes.io/part-of" "helm.sh/chart" }}
{{- range $of, $labels := dict "commonLabels" .Values.commonLabels "podLabels" .Values.podLabels "controllers.podLabels" .Values.controllers.podLabels "service.labels" .Values.service.labels "monitoring.serviceMonitor.labels" .Values.monitoring.serviceMonitor.labels "monitoring.podMonitors.labels" .Values.monitoring.podMonitors.labels "monitoring.prometheusRule.labels" .Values.monitoring.prometheusRule.labels "monitoring.dashboards.labels" .Values.monitoring.dashboards.labels }}
{{- range $name, $_ := $labels }}
{{- if has $name $own }}
{{ $of }}: {{ $name }} is set by the chart, whose selectors rely on it
{{- end }}
{{- end }}
{{- end }}
{{- range $of, $annotations := dict "podAnnotations" .Values.podAnnotations "controllers.podAnnotations" .Values.controllers.podAnnotations }}
{{- if hasKey (default dict $annotations) "keelson.dev/configuration" }}
{{ $of }}: keelson.dev/configuration is set by the chart, and replaces pods when their configuration changes
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
{{- if and .enabled (not (get (default dict (get (default dict $.Values.resources) "requests")) "cpu")) }}
autoscaling aims at a share of resources.requests.cpu, which is not set
{{- end }}
{{- end }}
{{- if regexMatch "^([2-9][0-9]{2,}|1[0-9]{3,}|10[1-9]|1[1-9][0-9])%$" (include "keelson.number" .Values.rollout.maxUnavailable) }}
rollout.maxUnavailable is above 100%
{{- end }}
{{- range $of, $schedule := dict "backup.schedule" .Values.backup.schedule "certificates.job.renewalSchedule" .Values.certificates.job.renewalSchedule }}
{{- with include "keelson.wrong.schedule" $schedule }}
{{ $of }}: {{ quote $schedule }} has no time: {{ . }}
{{- end }}
{{- end }}
{{- if and .Values.podDisruptionBudget.enabled (eq (include "keelson.amount" .Values.podDisruptionBudget.maxUnavailable) "0") }}
podDisruptionBudget.maxUnavailable is 0: no drain of a node would ever come to its end
{{- end }}
{{- end -}}

{{/* What is wrong with the first wrong field of a schedule; "" = nothing. Names as @daily are right. */}}
{{- define "keelson.wrong.schedule" -}}
{{- $bounds := list (list "minute" 0 59) (list "hour" 0 23) (list "day of the month" 1 31) (list "month" 1 12) (list "day of the week" 0 6) -}}
{{- $names := dict "month" "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec" "day of the week" "sun|mon|tue|wed|thu|fri|sat" -}}
{{- $wrong := list -}}
{{- range $index, $field := ternary list (regexSplit "\\s+" (trim .) -1) (hasPrefix "@" .) -}}
{{- $bound := index $bounds (min $index 4) -}}
{{- $one := printf "([0-9]+|%s)" (get $names (first $bound) | default "[0-9]+") -}}
{{- $least := index $bound 1 -}}
{{- $most := index $bound 2 -}}
{{- range $part := splitList "," (lower $field) -}}
{{- if not (regexMatch (printf "^([*?]|%s(-%s)?)(/0*[1-9][0-9]*)?$" $one $one) $part) -}}
{{- $wrong = append $wrong (printf "%q is no %s" $field (first $bound)) -}}
{{- else -}}
{{- $range := splitList "/" $part | first | splitList "-" -}}
{{- $last := $least -}}
{{- range $number := $range -}}
{{- if regexMatch "^[0-9]+$" $number -}}
{{- /* Without zeros before it, as those would make it octal. */ -}}
{{- $value := regexReplaceAll "^0+([0-9])" $number "${1}" | int -}}
{{- if or (lt $value $least) (gt $value $most) -}}
{{- $wrong = append $wrong (printf "a %s is from %d to %d" (first $bound) $least $most) -}}
{{- else if lt $value $last -}}
{{- $wrong = append $wrong (printf "%q ends before it begins" $part) -}}
{{- end -}}
{{- $last = $value -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- first $wrong | default "" -}}
{{- end -}}

{{/* Of a number or a percentage, without its sign. */}}
{{- define "keelson.amount" -}}
{{- include "keelson.number" . | trimSuffix "%" -}}
{{- end -}}

{{- define "keelson.wrong.flags" -}}
{{- $own := list "data-dir" "bind-address" "secure-port" "advertise-address" "serving-names" "etcd-servers" "etcd-prefix" "etcd-cafile" "etcd-certfile" "etcd-keyfile" "run-controllers" "tls-cert-file" "tls-private-key-file" "root-ca-file" "optional-root-ca-file" "metrics-bind-address" "shutdown-delay-duration" "shutdown-grace-period" "shutdown-watch-termination-grace-period" "vendor" }}
{{- range $of, $flags := dict "server.extraFlags" .Values.server.extraFlags "controllers.extraFlags" .Values.controllers.extraFlags }}
{{- range $name, $value := $flags }}
{{- $kinds := list }}
{{- range ternary $value (list $value) (kindIs "slice" $value) }}{{ $kinds = append $kinds (kindOf .) }}{{ end }}
{{- if or (has "map" $kinds) (has "slice" $kinds) }}
{{ $of }}: --{{ $name }} is neither a value nor a list of values
{{- end }}
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
{{- $secrets := include "keelson.secretVolumes" (dict "root" . "isServer" true) | fromYaml }}
{{- $own := concat (list "data" "tmp") (keys $secrets) }}
{{- $volumes := list "data" "tmp" }}
{{- range .Values.server.extraVolumes }}
{{- if has .name $own }}
server.extraVolumes: the chart has a volume {{ quote .name }}: another needs another name
{{- else if has .name $volumes }}
server.extraVolumes: two have the name {{ quote .name }}
{{- end }}
{{- $volumes = append $volumes .name }}
{{- end }}
{{- $paths := list "/var/lib/keelson" "/tmp" }}
{{- range keys $secrets }}{{ $paths = append $paths (printf "/etc/keelson/%s" .) }}{{ end }}
{{- range .Values.server.extraVolumeMounts }}
{{- if has (trimSuffix "/" .mountPath) $paths }}
server.extraVolumeMounts: the chart mounts a volume at {{ trimSuffix "/" .mountPath | quote }}
{{- end }}
{{- if not (has .name $volumes) }}
server.extraVolumeMounts: no volume of server.extraVolumes has the name {{ quote .name }}
{{- end }}
{{- end }}
{{- with .Values.server.bindAddress }}
{{- if regexMatch "^127\\.|^::1$" . }}
server.bindAddress: nothing from outside of the pod comes to {{ quote . }}
{{- else if not (regexMatch "^\\$\\([A-Z_]+\\)$|^(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])(\\.(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])){3}$|^[0-9a-fA-F:.]*:[0-9a-fA-F:.]*$" .) }}
server.bindAddress: {{ quote . }} is no address
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
{{- if not (regexMatch "^https?://([A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+\\])(:[1-9][0-9]{0,4})?/?$" .) }}
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
{{- /* Without a port it is that of its scheme. */ -}}
{{- $port := regexMatch ":[0-9]+/?$" . | ternary (regexFind "[0-9]+/?$" . | trimSuffix "/") (hasPrefix "https:" . | ternary "443" "80") }}
{{- if ne $port (include "keelson.number" $.Values.networkPolicy.etcdPort) }}
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
{{- /* Without a port it is Redis' own. */ -}}
{{- $port := regexMatch ":[0-9]+(/[0-9]*)?$" .url | ternary (regexFind "[0-9]+(/[0-9]*)?$" .url | splitList "/" | first) "6379" }}
{{- if and .url $.Values.networkPolicy.enabled (ne $port (include "keelson.number" $.Values.networkPolicy.redisPort)) }}
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
{{- if and (or (has "IPv6" .ipFamilies) (hasSuffix "DualStack" .ipFamilyPolicy)) (regexMatch "^[0-9.]+$" $.Values.server.bindAddress) }}
server.bindAddress: on {{ $.Values.server.bindAddress }} nothing comes over IPv6, which service.ipFamilies or service.ipFamilyPolicy ask for; "::" takes both
{{- end }}
{{- end }}
{{- end -}}

{{- define "keelson.wrong.outside" -}}
{{- with .Values.ingress }}
{{- if and .enabled (not (regexMatch "^([*][.])?[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$" .host)) }}
ingress.host: {{ quote .host }} is no host name
{{- else if and .enabled (regexMatch "^[0-9]+([.][0-9]+){3}$" .host) }}
ingress.host: {{ quote .host }} is an address, and an Ingress is for names
{{- end }}
{{- end }}
{{- with .Values.gateway }}
{{- if and .enabled (not .parentRefs) }}
gateway.parentRefs is needed with gateway.enabled
{{- end }}
{{- range .enabled | ternary .hostnames list }}
{{- if regexMatch "^[0-9]+([.][0-9]+){3}$" . }}
gateway.hostnames: {{ quote . }} is an address, and a route is for names
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "keelson.wrong.certificates" -}}
{{- with .Values.certificates }}
{{- if and .secretName (ne .source "secret") }}
certificates.secretName is for certificates.source=secret, and the source is {{ .source }}
{{- end }}
{{- if eq .source "certManager" }}
{{- $lifetime := include "keelson.seconds" .certManager.duration | float64 }}
{{- $rest := include "keelson.seconds" .certManager.renewBefore | float64 }}
{{- if ge $rest $lifetime }}
certificates.certManager.renewBefore is not shorter than certificates.certManager.duration
{{- end }}
{{- if lt $lifetime 3600.0 }}
certificates.certManager.duration is below one hour, which cert-manager does not issue
{{- end }}
{{- if lt $rest 300.0 }}
certificates.certManager.renewBefore is below five minutes, which cert-manager refuses
{{- end }}
{{- end }}
{{- range .extraNames }}
{{- if not (regexMatch "^([*][.])?[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?$|^[0-9a-fA-F:.]*:[0-9a-fA-F.]*:[0-9a-fA-F:.]*$" .) }}
certificates.extraNames: {{ quote . }} is neither a name nor an address
{{- end }}
{{- end }}
{{- end }}
{{- $families := list }}
{{- range splitList "," .Values.server.serviceClusterIPRange }}
{{- $families = append $families (contains ":" . | ternary "IPv6" "IPv4") }}
{{- $octet := "(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])" }}
{{- if or (contains ":::" .) (not (regexMatch (printf "^%s([.]%s){3}/([12]?[0-9]|3[0-2])$|^[0-9a-fA-F.:]*:[0-9a-fA-F.:]*/(12[0-8]|1[01][0-9]|[1-9]?[0-9])$" $octet $octet) (trim .))) }}
server.serviceClusterIPRange: {{ trim . | quote }} is no block of addresses, such as 10.0.0.0/24
{{- else if include "keelson.hasHostBits" (trim .) }}
server.serviceClusterIPRange: {{ trim . | quote }} is no block, as its address is longer than /{{ trim . | splitList "/" | last }}: it has to be the first one of the block
{{- end }}
{{- end }}
{{- if ne (len $families) (uniq $families | len) }}
server.serviceClusterIPRange: {{ quote .Values.server.serviceClusterIPRange }} has two blocks of one family: it is one block, or one of each
{{- end }}
{{- with .Values.serviceAccountKeys.issuer }}
{{- if or (regexMatch "[ ,]" .) (and (contains ":" .) (not (regexMatch "^[A-Za-z][A-Za-z0-9+.-]*:[^:]" .))) }}
serviceAccountKeys.issuer: {{ quote . }} is neither a URL nor a name
{{- end }}
{{- end }}
{{- if and .Values.serviceAccountKeys.verificationKeys (not .Values.serviceAccountKeys.secretName) }}
serviceAccountKeys.verificationKeys needs serviceAccountKeys.secretName
{{- end }}
{{- end -}}

{{/* A duration ("2160h", "1h30m") in seconds. */}}
{{- define "keelson.seconds" -}}
{{- $seconds := 0.0 -}}
{{- range $part := regexFindAll "[0-9.]+[hms]" . -1 -}}
{{- $unit := get (dict "h" 3600 "m" 60 "s" 1) (trimAll "0123456789." $part) -}}
{{- $seconds = addf $seconds (mulf (trimAll "hms" $part | float64) $unit) -}}
{{- end -}}
{{- $seconds -}}
{{- end -}}

{{/* "true" of a block whose address is not its first one. Addresses of IPv6 that end as those of IPv4 are not looked at. */}}
{{- define "keelson.hasHostBits" -}}
{{- $address := splitList "/" . | first -}}
{{- $length := splitList "/" . | last | int -}}
{{- $width := 8 -}}
{{- $radix := "" -}}
{{- $parts := splitList "." $address -}}
{{- if contains ":" $address -}}
{{- $width = 16 -}}
{{- $radix = "0x" -}}
{{- $sides := splitList "::" $address -}}
{{- $parts = first $sides | splitList ":" | compact -}}
{{- if gt (len $sides) 1 -}}
{{- $end := last $sides | splitList ":" | compact -}}
{{- range until (sub 8 (add (len $parts) (len $end)) | int) }}{{ $parts = append $parts "0" }}{{ end -}}
{{- $parts = concat $parts $end -}}
{{- end -}}
{{- end -}}
{{- $has := false -}}
{{- range $index, $part := $parts -}}
{{- $unit := 1 -}}
{{- range until (min $width (max 0 (sub (mul $width (add 1 $index)) $length)) | int) }}{{ $unit = mul 2 $unit }}{{ end -}}
{{- /* Without zeros before it, as those would make it octal. */ -}}
{{- if mod (regexReplaceAll "^0+([^0])" $part "${1}" | printf "%s%s" $radix | int64) $unit }}{{ $has = true }}{{ end -}}
{{- end -}}
{{- if and $has (not (and (contains ":" $address) (contains "." $address))) }}true{{ end -}}
{{- end -}}

{{- define "keelson.wrong.configuration" -}}
{{- if and .Values.controlPlanes.domain (not .Values.controlPlanes.enabled) }}
controlPlanes.domain is for controlPlanes.enabled=true: without it there is nothing that would have a host name
{{- end }}
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
{{- if not (regexMatch "^[A-Za-z0-9._~+/=-]*$" .token) }}
monitoring.token has characters that no token of a request has: it may have letters, digits and - . _ ~ + / =
{{- end }}
{{- if and .token $.Values.configuration.existingSecret }}
monitoring.token: with configuration.existingSecret the replicas would not know it; put a token of the group system:monitoring into that Secret's tokens.csv, and name a Secret with it in monitoring.tokenSecretName
{{- end }}
{{- end }}
{{- end -}}

{{- define "keelson.wrong.resources" -}}
{{- range $of, $resources := dict "resources" .Values.resources "controllers.resources" .Values.controllers.resources "etcd.bundled.resources" .Values.etcd.bundled.resources "redis.bundled.resources" .Values.redis.bundled.resources "backup.resources" .Values.backup.resources "certificates.job.resources" .Values.certificates.job.resources "tests.resources" .Values.tests.resources }}
{{- $resources = default dict $resources }}
{{- $limits := default dict $resources.limits }}
{{- range $name, $amount := $resources.requests }}
{{- $least := include "keelson.quantity" $amount }}
{{- $most := include "keelson.quantity" (get $limits $name) }}
{{- if and $least $most (gt (float64 $least) (float64 $most)) }}
{{ $of }}.requests.{{ $name }} is above {{ $of }}.limits.{{ $name }}: no pod would be let in
{{- end }}
{{- end }}
{{- end }}
{{- $resources := default dict .Values.resources }}
{{- $limit := include "keelson.quantity" (get (default dict $resources.limits) "memory") }}
{{- if and .Values.heapMegabytes $limit }}
{{- if ge (mulf .Values.heapMegabytes 1048576) (float64 $limit) }}
heapMegabytes is not below resources.limits.memory: the kernel would end a replica before its heap is full
{{- end }}
{{- end }}
{{- end -}}

{{/* A quantity ("1500m", "2Gi", 0.5) as a number; "" for what is none. */}}
{{- define "keelson.quantity" -}}
{{- $text := include "keelson.number" . -}}
{{- if regexMatch "^[0-9]+([.][0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$" $text -}}
{{- $factors := dict "" 1 "m" 0.001 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 -}}
{{- mulf (regexFind "^[0-9.]+" $text | float64) (get $factors (regexFind "[A-Za-z]*$" $text)) | printf "%.3f" -}}
{{- end -}}
{{- end -}}
