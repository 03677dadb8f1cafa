{{- define "anneal.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 45 | trimSuffix "-" -}}
{{- end -}}

{{/* Short enough to append the name of every service. */}}
{{- define "anneal.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 45 | trimSuffix "-" -}}
{{- else if contains (include "anneal.name" .) .Release.Name -}}
{{- .Release.Name | trunc 45 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "anneal.name" .) | trunc 45 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "anneal.selector" -}}
app.kubernetes.io/name: {{ include "anneal.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "anneal.labels" -}}
{{ include "anneal.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "anneal.secretName" -}}
{{- default (include "anneal.fullname" .) .Values.secret.existingName -}}
{{- end -}}

{{- define "anneal.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "anneal.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* The values of one service over the defaults, as YAML. Takes (dict "root" $ "name" name). */}}
{{- define "anneal.service" -}}
{{- $own := deepCopy (default (dict) (index .root.Values.services .name)) -}}
{{- mergeOverwrite (deepCopy .root.Values.defaults) $own | toYaml -}}
{{- end -}}

{{/* "true" when an autoscaler, not the Deployment, sets the replicas of a service. */}}
{{- define "anneal.scaled" -}}
{{- if or .service.autoscaling.enabled (and .root.Values.keda.enabled .service.keda.enabled) -}}true{{- end -}}
{{- end -}}
