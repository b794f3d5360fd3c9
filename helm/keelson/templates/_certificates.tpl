{{/* Certificates: where they come from, for whom, and who makes them. */}}

{{/* The Secret with the serving certificate; "" when replicas make their own. */}}
{{- define "keelson.tlsSecretName" -}}
{{- if eq .Values.certificates.source "secret" -}}
{{- required "certificates.secretName is needed with certificates.source=secret" .Values.certificates.secretName -}}
{{- else if ne .Values.certificates.source "shared" -}}
{{ include "keelson.fullname" . }}-tls
{{- end -}}
{{- end -}}

{{/* Names that only clients from outside use, as YAML below "names". */}}
{{- define "keelson.outsideNames" -}}
{{- $ingress := ternary (list .Values.ingress.host) list .Values.ingress.enabled -}}
{{- $gateway := ternary .Values.gateway.hostnames list .Values.gateway.enabled -}}
{{- dict "names" (concat $ingress $gateway .Values.certificates.extraNames | uniq) | toYaml -}}
{{- end -}}

{{/* Names under which clients of the same cluster come, and those of the values, separated by commas. */}}
{{- define "keelson.servingNames" -}}
{{- $name := include "keelson.fullname" . -}}
{{- $namespace := .Release.Namespace -}}
{{- $own := list $name (printf "%s.%s" $name $namespace) (printf "%s.%s.svc" $name $namespace) (printf "%s.%s.svc.%s" $name $namespace .Values.clusterDomain) -}}
{{- $outside := include "keelson.outsideNames" . | fromYaml -}}
{{- concat $own $outside.names | uniq | join "," -}}
{{- end -}}

{{/* Whether its names are those alone by which clients come from outside. */}}
{{- define "keelson.hasPublicNames" -}}
{{- if and (eq .Values.certificates.source "certManager") (not .Values.certificates.certManager.clusterNames) }}true{{ end -}}
{{- end -}}

{{/* The name that who comes by the Service, or by an address, asks the certificate for. */}}
{{- define "keelson.verifiedName" -}}
{{- if include "keelson.hasPublicNames" . -}}
{{- $outside := include "keelson.outsideNames" . | fromYaml -}}
{{- first $outside.names -}}
{{- else -}}
{{- include "keelson.fullname" . }}.{{ .Release.Namespace }}.svc
{{- end -}}
{{- end -}}

{{/* What a Certificate is asked for: dnsNames and ipAddresses. A public issuer knows no names of clusters. */}}
{{- define "keelson.certificateHosts" -}}
{{- $outside := include "keelson.outsideNames" . | fromYaml -}}
{{- $hosts := $outside.names -}}
{{- if .Values.certificates.certManager.clusterNames -}}
{{- $vendor := .Values.server.vendor -}}
{{- $hosts = splitList "," (include "keelson.servingNames" .) -}}
{{- $hosts = concat $hosts (list $vendor (printf "%s.default" $vendor) (printf "%s.default.svc" $vendor) "localhost" "127.0.0.1") -}}
{{- range splitList "," .Values.server.serviceClusterIPRange -}}
{{- $hosts = append $hosts (include "keelson.firstAddress" .) -}}
{{- end -}}
{{- else if not $hosts -}}
{{- fail "certificates.certManager.clusterNames=false leaves no name for the certificate: certificates.extraNames, ingress or gateway has to give one" -}}
{{- end -}}
{{- $names := list -}}
{{- $addresses := list -}}
{{- range $hosts | uniq -}}
{{- if regexMatch "^[0-9.]+$|:" . }}{{ $addresses = append $addresses . }}{{ else }}{{ $names = append $names . }}{{ end -}}
{{- end -}}
{{- dict "dnsNames" $names "ipAddresses" $addresses | toYaml -}}
{{- end -}}

{{/* The address of the API's own Service: the first one of its block. */}}
{{- define "keelson.firstAddress" -}}
{{- $base := trim . | splitList "/" | first -}}
{{- if hasSuffix "::" $base -}}
{{ $base }}1
{{- else if contains ":" $base -}}
{{- $last := splitList ":" $base | last -}}
{{ trimSuffix $last $base }}{{ printf "0x%s" $last | int64 | add 1 | printf "%x" }}
{{- else -}}
{{- $parts := splitList "." $base -}}
{{ join "." (append (initial $parts) (last $parts | int | add 1 | toString)) }}
{{- end -}}
{{- end -}}

{{/* The flag by which pods of this API get to know its authorities. An issuer that all know, such as one of ACME, names none. */}}
{{- define "keelson.rootAuthorityFlag" -}}
{{- if .Values.certificates.rootAuthoritySecretName -}}
- {{ printf "--root-ca-file=/etc/keelson/root-authority/%v" .Values.certificates.rootAuthoritySecretKey | quote }}
{{- else if eq .Values.certificates.source "job" -}}
- --root-ca-file=/etc/keelson/tls/ca.crt
{{- else if include "keelson.tlsSecretName" . -}}
- --optional-root-ca-file=/etc/keelson/tls/ca.crt
{{- end -}}
{{- end -}}

{{/* Who may write the two Secrets. Takes (dict "root" $ "component" "..." "name" "..." "annotations" {}). */}}
{{- define "keelson.certificatesAccount" -}}
{{- $root := .root }}
{{- range $kind := list "ServiceAccount" "Role" "RoleBinding" }}
---
apiVersion: {{ ternary "v1" "rbac.authorization.k8s.io/v1" (eq $kind "ServiceAccount") }}
kind: {{ $kind }}
metadata:
  name: {{ $.name | quote }}
  namespace: {{ $root.Release.Namespace | quote }}
  labels:
    {{- include "keelson.labels" $ | nindent 4 }}
  {{- with $.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- if eq $kind "Role" }}
rules:
  - apiGroups: [""]
    resources: [secrets]
    verbs: [create]
  - apiGroups: [""]
    resources: [secrets]
    resourceNames: ["{{ include "keelson.tlsSecretName" $root }}", "{{ include "keelson.tlsSecretName" $root }}-authority"]
    verbs: [get, update]
{{- else if eq $kind "RoleBinding" }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ $.name | quote }}
subjects:
  - kind: ServiceAccount
    name: {{ $.name | quote }}
    namespace: {{ $root.Release.Namespace | quote }}
{{- else }}
automountServiceAccountToken: false
{{- end }}
{{- end }}
{{- end -}}

{{/* Spec of the Job that makes and renews them, with its account's token. */}}
{{- define "keelson.certificatesJob" -}}
{{- $root := .root -}}
backoffLimit: 3
activeDeadlineSeconds: 120
template:
  metadata:
    labels:
      {{- include "keelson.labels" . | nindent 6 }}
  spec:
    {{- include "keelson.placement" $root | nindent 4 }}
    serviceAccountName: {{ .name | quote }}
    automountServiceAccountToken: true
    enableServiceLinks: false
    restartPolicy: Never
    containers:
      - name: certificates
        image: {{ include "keelson.image" $root | quote }}
        imagePullPolicy: {{ $root.Values.image.pullPolicy | quote }}
        command: [node, --input-type=module, --eval]
        args:
          - |
            {{- $root.Files.Get "files/make-certificates.mjs" | nindent 12 }}
        env:
          - name: SECRET_NAMESPACE
            value: {{ $root.Release.Namespace | quote }}
          - name: SECRET_NAME
            value: {{ include "keelson.tlsSecretName" $root | quote }}
          - name: SERVING_NAMES
            value: {{ include "keelson.servingNames" $root | quote }}
          - name: SERVICE_RANGES
            value: {{ $root.Values.server.serviceClusterIPRange | quote }}
          - name: VENDOR
            value: {{ $root.Values.server.vendor | quote }}
        resources:
          {{- toYaml $root.Values.certificates.job.resources | nindent 10 }}
        securityContext:
          {{- toYaml $root.Values.securityContext | nindent 10 }}
        volumeMounts:
          - name: tmp
            mountPath: /tmp
    volumes:
      - name: tmp
        emptyDir: {}
{{- end -}}
