import type { GatewayDependencies } from '../rest/dependencies.ts';
import { type StartUpload, createStartUpload } from '../tasks/begin.ts';
import { type UploadAdmission, createAdmission } from './admission.ts';

/** The part that all kinds of uploads share: bounds, checks, and one task for each action at a time. */
export type Intake = Pick<GatewayDependencies, 'chain' | 'files' | 'log' | 'settings'> &
  Readonly<{ admission: UploadAdmission; begin: StartUpload }>;

/** The intake of a gateway, whose uploads of either kind share their bounds. */
export function createIntake(dependencies: GatewayDependencies): Intake {
  const { chain, files, log, settings } = dependencies;
  const [admission, start] = [createAdmission(dependencies), createStartUpload(dependencies)];
  return { chain, files, log, settings, admission, begin: start };
}
