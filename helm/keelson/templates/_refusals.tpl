{{/* Values of which each is well, and which cannot work together: a sentence for each, instead of pods that never start. */}}

{{- define "keelson.refusals" -}}
{{- if and (eq (int .Values.rollout.maxSurge) 0) (eq (int .Values.rollout.maxUnavailable) 0) -}}
{{- fail "rollout.maxSurge and rollout.maxUnavailable are both 0: no replica could ever be replaced" -}}
{{- end -}}
{{- range $endpoint := .Values.etcd.endpoints -}}
{{- if not (regexMatch "^https?://[^/, ]+$" $endpoint) -}}
{{- fail (printf "etcd.endpoints: %q is not http://host:port or https://host:port" $endpoint) -}}
{{- end -}}
{{- end -}}
{{- $own := list "data-dir" "bind-address" "secure-port" "advertise-address" "serving-names" "etcd-servers" "etcd-prefix" "run-controllers" "tls-cert-file" "tls-private-key-file" "root-ca-file" "optional-root-ca-file" "metrics-bind-address" "shutdown-delay-duration" "shutdown-grace-period" "shutdown-watch-termination-grace-period" "vendor" -}}
{{- range $of, $flags := dict "server.extraFlags" .Values.server.extraFlags "controllers.extraFlags" .Values.controllers.extraFlags -}}
{{- range $name, $_ := $flags -}}
{{- if has $name $own -}}
{{- fail (printf "%s: --%s is set by the chart, whose probes, Service and certificates rely on it; there is a value for it" $of $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and .Values.etcd.auth.username (not .Values.etcd.auth.passwordSecretName) -}}
{{- fail "etcd.auth.username needs etcd.auth.passwordSecretName" -}}
{{- end -}}
{{- if and .Values.autoscaling.enabled (gt (int .Values.autoscaling.minReplicas) (int .Values.autoscaling.maxReplicas)) -}}
{{- fail "autoscaling.minReplicas is above autoscaling.maxReplicas" -}}
{{- end -}}
{{- if and .Values.configuration.authorization .Values.configuration.authorizationModes -}}
{{- fail "configuration.authorization and configuration.authorizationModes: only one of them" -}}
{{- end -}}
{{- if and (eq .Values.service.externalTrafficPolicy "Local") (eq .Values.service.type "ClusterIP") -}}
{{- fail "service.externalTrafficPolicy is for the types NodePort and LoadBalancer" -}}
{{- end -}}
{{- end -}}
