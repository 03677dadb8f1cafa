/** Older forms of Ironic's addresses. Pure. */

/** The collections that Ironic also serves without a version in the address. */
const withoutVersion =
  /^\/baremetal\/(?=(?:nodes|ports|portgroups|chassis|drivers|volume|conductors|allocations|deploy_templates|runbooks|shards)(?:[/?]|$))/;
/** The console of a node, with the node at the end. */
const consoleOfNode = /^\/baremetal\/v1\/nodes\/states\/console\/([^/?]+)/;

/** The address of version 1 that an older form means. */
export const ironicAddress = (url: string): string =>
  url.replace(withoutVersion, '/baremetal/v1/').replace(consoleOfNode, '/baremetal/v1/nodes/$1/states/console');
