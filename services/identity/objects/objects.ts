/** The questions that change objects of the identity API. */
import { answer, type MessageRoute } from '@anneal/bus/consume/route.ts';
import {
  identityObjectChange,
  identityObjectCreate,
  identityGrantSet,
  identityImplySet,
  identityMemberSet,
  identityObjectRemove,
  identitySubscriberTrustEnd,
  identitySubscriberTrustSet,
  identityTagsChange,
  type IdentityKindName,
} from '@anneal/contracts/calls/identity.ts';
import type { CallDefinition } from '@anneal/contracts/define.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import { accessRuleObjects, applicationCredentialObjects } from './application-credentials.ts';
import { endpointObjects, regionObjects, serviceObjects } from './catalog.ts';
import { credentialObjects, ec2KeyObjects } from './credentials.ts';
import { domainObjects } from './domains.ts';
import { setGrant } from './grants.ts';
import { groupObjects, setMember } from './groups.ts';
import type { ServedKind } from './kind.ts';
import type { IdentityParts } from './parts.ts';
import { changeTags, projectObjects } from './projects.ts';
import { roleObjects, setImplied } from './roles.ts';
import { endSubscriberTrust, setSubscriberTrust, trustObjects } from './trusts.ts';
import { userObjects } from './users.ts';

/** Answers the questions that change objects. */
export function objectAnswers(context: Pick<ServiceContext, 'bus' | 'mint'>, parts: IdentityParts): MessageRoute[] {
  const kinds: Readonly<Record<IdentityKindName, ServedKind>> = {
    user: userObjects(parts),
    group: groupObjects(parts),
    project: projectObjects(parts),
    domain: domainObjects(parts),
    role: roleObjects(parts),
    service: serviceObjects(parts),
    endpoint: endpointObjects(parts),
    region: regionObjects(parts),
    application_credential: applicationCredentialObjects(parts),
    access_rule: accessRuleObjects(parts),
    trust: trustObjects(parts),
    credential: credentialObjects(parts),
    ec2_key: ec2KeyObjects(parts),
  };
  const does = <Q>(definition: CallDefinition<Q, object>, change: (question: Q) => Promise<void>): MessageRoute =>
    answer(context, definition, async ({ data }) => {
      await change(data);
      return {};
    });
  const opened = (fields: JsonObject): JsonObject => parts.secrets.open(fields);
  return [
    does(identityObjectCreate, ({ kind, fields, ...question }) => kinds[kind].create(question, opened(fields))),
    does(identityObjectChange, ({ kind, fields, ...question }) => kinds[kind].change(question, opened(fields))),
    does(identityObjectRemove, ({ kind, ...question }) => kinds[kind].remove(question)),
    does(identityMemberSet, (question) => setMember(parts, question)),
    does(identityImplySet, (question) => setImplied(parts, question)),
    does(identityGrantSet, (question) => setGrant(parts, question)),
    does(identityTagsChange, (question) => changeTags(parts, question)),
    does(identitySubscriberTrustSet, (question) => setSubscriberTrust(parts, question)),
    does(identitySubscriberTrustEnd, (question) => endSubscriberTrust(parts, question)),
  ];
}
