/** What is known about the management controller of a node. What is normal takes few lines. */
import type { NodeRepresentation } from '@anneal/client/representation.ts';
import type { Condition } from '@anneal/contracts/calls/stacks.ts';
import type { Tone } from '@anneal/client/text/tone.ts';
import { Mark } from '../parts/state.tsx';
import { Age, Until } from '../parts/time.tsx';

type BmcContact = NonNullable<NodeRepresentation['bmc']>;

/** The fields of a node beyond Ironic's that this part shows. */
interface BmcFields {
  readonly driver_info?: { readonly redfish_address?: string; readonly ipmi_address?: string };
  readonly conditions?: readonly Condition[];
}

/** The conditions that concern the controller, in words. */
const titles: Readonly<Record<string, string>> = {
  Reachable: 'Answers',
  Identity: 'Is the enrolled machine',
  Stalled: 'Work is stuck',
};
const toneOfCondition = ({ type, status }: Condition): Tone => {
  if (status === 'Unknown') return 'idle';
  const isGood = (status === 'True') === (type !== 'Stalled');
  return isGood ? 'done' : 'failed';
};
const words: Readonly<Record<string, string>> = { True: 'yes', False: 'no', Unknown: 'not known' };

export function BmcHealth({ node }: { node: NodeRepresentation }) {
  const { driver_info: info, conditions = [] } = node as BmcFields;
  return (
    <section className="card" aria-label="BMC">
      <header>
        <h2>BMC</h2>
        <span className="more mono cut">{info?.redfish_address ?? info?.ipmi_address}</span>
      </header>
      <dl className="facts body">
        {conditions.flatMap((condition) => {
          const title = titles[condition.type];
          if (title === undefined || (condition.type === 'Stalled' && condition.status === 'False')) return [];
          const { type, status, message, since } = condition;
          return [
            <div key={type} style={{ display: 'contents' }}>
              <dt>{title}</dt>
              <dd>
                <span className="row wrap">
                  <Mark tone={toneOfCondition(condition)} />
                  {words[status]}
                  {toneOfCondition(condition) === 'failed' && (
                    <span className="dim">
                      for <Age since={since} />
                    </span>
                  )}
                  {message !== '' && <span>{message}</span>}
                </span>
              </dd>
            </div>,
          ];
        })}
        {node.bmc !== null && <Contact bmc={node.bmc} />}
        {node.fault !== null && (
          <>
            <dt>Fault</dt>
            <dd className="tone-failed">{node.fault}</dd>
          </>
        )}
      </dl>
    </section>
  );
}

/** The last contact, the failures since, and the next try. */
function Contact({ bmc }: { bmc: BmcContact }) {
  const { last_contact: contact, failures, last_error: error, breaker, next_try: next } = bmc;
  return (
    <>
      <dt>Last contact</dt>
      <dd>
        {contact === null ? (
          'never'
        ) : (
          <>
            <Age since={contact} /> ago
          </>
        )}
      </dd>
      {failures > 0 && (
        <>
          <dt>Failures in a row</dt>
          <dd className="tone-failed">
            {failures}
            {error !== null && breaker === 'closed' && `: ${error.message}`}
          </dd>
        </>
      )}
      {breaker === 'open' && (
        <>
          <dt>New servers</dt>
          <dd className="row wrap">
            <Mark tone="failed" /> no server gets the node until its BMC answers
          </dd>
        </>
      )}
      <dt>Next check</dt>
      <dd>{next === null ? <span className="dim">none planned</span> : <Until time={next} />}</dd>
    </>
  );
}
