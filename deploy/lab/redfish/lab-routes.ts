/** Routes of the lab beside Redfish: the state of each machine, and the faults that a test arms. */
import { faultSchema } from '../faults.ts';
import type { LabMachine } from '../machine.ts';
import { machineAt, type ById, type BmcEndpoint } from './endpoint.ts';
import { wrongValue } from './errors.ts';
import { systemPath } from './representation.ts';

export function labRoutes(endpoint: BmcEndpoint): void {
  const { app, machines, faults, sessions } = endpoint;

  app.get('/lab/v1/machines', () => ({ machines: [...machines.values()].map(labView) }));
  const labView = (machine: LabMachine): object => ({
    name: machine.state.name,
    system_id: systemPath(machine.state.name),
    address: machine.state.address,
    power: machine.power,
    progress: machine.progress,
    directory: machine.directory,
    faults: faults.get(machine.state.name)?.show(),
  });
  app.get<ById>('/lab/v1/machines/:id', (request) => labView(machineAt(endpoint, request)));
  app.post<ById>('/lab/v1/machines/:id/faults', (request) => {
    const machine = machineAt(endpoint, request);
    const fault = faultSchema.safeParse(request.body);
    if (!fault.success)
      throw wrongValue(
        'faults',
        request.body,
        fault.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; '),
      );
    faults.get(machine.state.name)?.set(fault.data, machine.power);
    if (fault.data.reboot !== undefined) sessions.endAll();
    return labView(machine);
  });
  app.delete<ById>('/lab/v1/machines/:id/faults', (request) => {
    const machine = machineAt(endpoint, request);
    faults.get(machine.state.name)?.clear();
    return labView(machine);
  });
}
