import type { GatewayDependencies } from '../rest/dependencies.ts';
import { type BeginUpload, createBeginUpload } from '../tasks/begin.ts';
import { type Admission, createAdmission } from './admission.ts';

/** The part that all kinds of uploads share: bounds, checks, and one task for each action at a time. */
export type Intake = Pick<GatewayDependencies, 'chain' | 'files' | 'log' | 'settings'> &
  Readonly<{ admission: Admission; begin: BeginUpload }>;

/** The intake of a gateway, whose uploads of either kind share their bounds. */
export function createIntake(dependencies: GatewayDependencies): Intake {
  const { chain, files, log, settings } = dependencies;
  const [admission, begin] = [createAdmission(dependencies), createBeginUpload(dependencies)];
  return { chain, files, log, settings, admission, begin };
}
