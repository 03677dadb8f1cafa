/** The test that sees each code of the error table answered, from outside. */
import { errorTable } from '@anneal/contracts/errors.ts';
import { expectWitnesses, names } from './witnesses.ts';

expectWitnesses('error', {
  members: Object.keys(errorTable),
  witnesses: {
    'services/configuration/deployments/deployment.service.test.ts': [
      'DeadlineExceeded',
      'DeploymentFailed',
      'DeploymentSkipped',
    ],
    'services/configuration/hosts/host.service.test.ts': ['Gone'],
    'services/configuration/overtaken.service.test.ts': ['Superseded'],
    'services/gateway/api/api.service.test.ts': ['InvalidMessage', 'LimitReached'],
    'services/gateway/heat/heat.service.test.ts': ['InvalidTemplate', 'TooLarge', 'Unavailable'],
    'services/gateway/http/unreadable.service.test.ts': ['TimedOut'],
    // A mistake of the program in a step reaches the client as a defect.
    'services/scheduling/stacks/death.service.test.ts': ['Defect'],
    'test/e2e/actions.test.ts': ['Conflict'],
    'test/e2e/projects.test.ts': ['Forbidden', 'Unauthorized'],
    'test/e2e/signal.test.ts': ['NotSupported'],
    'test/e2e/why.test.ts': ['NotFound'],
    'test/system/provisioning/bmc-trouble.test.ts': ['BmcMisconfigured', 'IdentityMismatch'],
    'test/system/provisioning/boot-exchange.test.ts': ['BmcRefused'],
    'test/system/provisioning/provisioning.test.ts': [
      'BmcUnreachable',
      'HostSilent',
      'InvalidRequest',
      'NoNodeAvailable',
      'QuotaExceeded',
    ],
    'test/system/provisioning/slots.test.ts': ['Cancelled'],
    'test/system/provisioning/unusable-image.test.ts': [
      'DiskTooSmall',
      'ImageUnreachable',
      'ImageUnusable',
      'ResourceFailed',
    ],
    'test/system/workflow-triggers.test.ts': ['AlreadyExists'],
  },
  isNamed: (code, text) => names(text, code),
});
