/** The rule of a server group: which racks or other domains its servers may share. Pure. */
import type { groupDomains, groupPolicies } from '@anneal/hot/types/provisioning.ts';
import type { NodeDocument } from '../../documents/node.ts';

export type GroupPolicy = (typeof groupPolicies)[number];
export type GroupDomain = (typeof groupDomains)[number];

/** A group as one of its servers sees it. */
export interface PlaceRule {
  readonly name: string;
  readonly policy: GroupPolicy;
  readonly domain: GroupDomain;
  /** `anti-affinity`: the most servers in one domain. */
  readonly most: number;
  /** The domains of the other servers, one entry for each server. */
  readonly others: readonly string[];
}

/**
 * The value of the domain that a node is in. A node that declares none is a rack and a power domain of its own, and in the
 * zone `nova`, as in Nova.
 */
export function domainIn(node: Pick<NodeDocument, 'id' | 'properties'>, domain: GroupDomain): string {
  const declared = domain === 'node' ? undefined : node.properties[domain];
  if (typeof declared === 'string' && declared !== '') return declared;
  return domain === 'availability_zone' ? 'nova' : `node ${node.id}`;
}

const countIn = ({ others }: PlaceRule, place: string): number => others.filter((each) => each === place).length;

/** Whether the policy allows one more server in this domain. The soft policies always do. */
export function ruleAllows(rule: PlaceRule, place: string): boolean {
  switch (rule.policy) {
    case 'anti-affinity':
      return countIn(rule, place) < rule.most;
    case 'affinity':
      return rule.others.length === 0 || rule.others.includes(place);
    case 'soft-anti-affinity':
    case 'soft-affinity':
      return true;
  }
}

/** How much the policy prefers this domain: the highest first. */
export function preference(rule: PlaceRule, place: string): number {
  const isTogether = rule.policy === 'affinity' || rule.policy === 'soft-affinity';
  return isTogether ? countIn(rule, place) : -countIn(rule, place);
}

/** E.g. `anti-affinity, at most 1 in one rack, taken: r1, r2`. */
export function ruleText(rule: PlaceRule): string {
  const { policy, domain, most } = rule;
  const used = [...new Set(rule.others)].toSorted();
  const shown = used.slice(0, 5).join(', ') + (used.length > 5 ? `, and ${used.length - 5} more` : '');
  const where = domain.replace('_', ' ');
  if (policy === 'affinity') return `affinity, all in one ${where}${used.length === 0 ? '' : `: ${shown}`}`;
  const limit = policy === 'anti-affinity' ? `, at most ${most} in one ${where}` : `, by ${where}`;
  return `${policy}${limit}${used.length === 0 ? '' : `, used: ${shown}`}`;
}
