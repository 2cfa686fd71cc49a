/** npm run gen: writes everything that is generated. */
import { generators } from './checks/generated.mjs';
import { runSteps } from './checks/steps.mjs';

const failed = await runSteps(generators);
if (failed.length > 0) process.exitCode = 1;
