/** How os-collect-config reads the metadata of its server, and how heat-config-notify answers: Heat's names. */

/** The values of `software_config_transport` of a server. */
export const collectTransports = ['POLL_SERVER_CFN', 'POLL_SERVER_HEAT', 'POLL_TEMP_URL', 'ZAQAR_MESSAGE'] as const;
export type CollectTransport = (typeof collectTransports)[number];

/** The values of `deploy_signal_transport` of a deployment. */
export const deploymentSignalTransports = [
  'CFN_SIGNAL',
  'TEMP_URL_SIGNAL',
  'HEAT_SIGNAL',
  'NO_SIGNAL',
  'ZAQAR_SIGNAL',
] as const;
export type DeploymentSignalTransport = (typeof deploymentSignalTransports)[number];

/** The value of `signal_transport` that follows the server. */
export const autoTransport = 'AUTO';
