/** A new stack: template, parameters, plan, creation. */
import { Workbench } from '../template/workbench.tsx';

const example = `heat_template_version: 2021-04-16

description: A machine, and a script that runs on it

parameters:
  greeting:
    type: string
    default: hello

resources:
  machine:
    type: OS::Nova::Server
    properties:
      image: any
      flavor: baremetal
      user_data_format: SOFTWARE_CONFIG

  script:
    type: OS::Heat::SoftwareConfig
    properties:
      group: script
      inputs: [{ name: greeting }]
      outputs: [{ name: said }]
      config: |
        #!/bin/sh
        echo "$greeting from $(hostname)" | tee "$heat_outputs_path.said"

  run:
    type: OS::Heat::SoftwareDeployment
    properties:
      server: { get_resource: machine }
      config: { get_resource: script }
      input_values:
        greeting: { get_param: greeting }

outputs:
  said:
    value: { get_attr: [run, said] }
`;
const start = { template: example, values: {} };

export function CreatePage() {
  return (
    <Workbench
      start={start}
      draft="anneal-draft:new"
      heading={
        <>
          <h1>New stack</h1>
          <span className="dim">The template is an example: change it, or add your own.</span>
        </>
      }
    />
  );
}
