{{/* Monitoring: what alerts and dashboards ask by, and how a scrape comes in. */}}

{{/* The jobs that alerts know, whatever the release is called; and its name as a label. */}}
{{- define "keelson.relabelings" -}}
- {targetLabel: job, replacement: {{ .job }}}
- {targetLabel: release, replacement: {{ .root.Release.Name | quote }}}
{{- end -}}

{{/* Which authority vouches for a replica, under which name. Replicas are scraped one by one, by addresses. */}}
{{- define "keelson.scrapeTls" -}}
{{- $monitor := .Values.monitoring.serviceMonitor -}}
{{- $secret := default (include "keelson.tlsSecretName" .) $monitor.authoritySecretName -}}
{{- $isPublic := and (include "keelson.hasPublicNames" .) (not $monitor.authoritySecretName) -}}
serverName: {{ include "keelson.verifiedName" . | quote }}
{{- if $isPublic }}
{{- else if $secret }}
ca:
  secret: {name: {{ $secret | quote }}, key: {{ $monitor.authoritySecretKey | quote }}}
{{- else if $monitor.insecureSkipVerify }}
insecureSkipVerify: true
{{- else }}
{{- fail "monitoring.serviceMonitor: with certificates.source=shared no Secret has the authority of the replicas, so the token would go to whoever answers; name one in monitoring.serviceMonitor.authoritySecretName, or say monitoring.serviceMonitor.insecureSkipVerify=true" }}
{{- end }}
{{- end -}}

{{- define "keelson.scrapeToken" -}}
{{- if .Values.monitoring.tokenSecretName -}}
credentials: {name: {{ .Values.monitoring.tokenSecretName | quote }}, key: {{ .Values.monitoring.tokenSecretKey | quote }}}
{{- else if .Values.monitoring.token -}}
credentials: {name: "{{ include "keelson.fullname" . }}-monitoring", key: token}
{{- end -}}
{{- end -}}

{{/* The alerts, for an etcd that is scraped under another job. */}}
{{- define "keelson.alerts" -}}
{{- $etcd := printf "job=%s" (quote .Values.monitoring.prometheusRule.etcdJob) -}}
{{- .Files.Get "files/alerts.yaml" | replace "job=\"keelson-etcd\"" $etcd -}}
{{- end -}}
