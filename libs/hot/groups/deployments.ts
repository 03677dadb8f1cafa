/** SoftwareDeploymentGroup and StructuredDeploymentGroup: the same deployment on every server of a map. */
import type { JsonObject } from '@anneal/contracts/json.ts';
import { isPlainObject, toRecord } from '@anneal/python/yaml/node.ts';

const singular: Readonly<Record<string, string>> = {
  'OS::Heat::SoftwareDeploymentGroup': 'OS::Heat::SoftwareDeployment',
  'OS::Heat::SoftwareDeployments': 'OS::Heat::SoftwareDeployment',
  'OS::Heat::StructuredDeploymentGroup': 'OS::Heat::StructuredDeployment',
  'OS::Heat::StructuredDeployments': 'OS::Heat::StructuredDeployment',
};

/** Names each member after its server in the map. */
export function deploymentNames(properties: JsonObject): string[] {
  return isPlainObject(properties['servers']) ? Object.keys(properties['servers']) : [];
}

/** The deployment on one server. */
export function deploymentDefinition({
  type,
  properties,
  name,
}: {
  /** Type of the group. */
  type: string;
  properties: JsonObject;
  name: string;
}): JsonObject {
  const { servers, ...rest } = properties;
  const given = Object.entries(rest).filter(([, value]) => value !== null);
  const server = isPlainObject(servers) ? (servers[name] ?? null) : null;
  return { type: singular[type] ?? '', properties: { ...toRecord(given), server } };
}
