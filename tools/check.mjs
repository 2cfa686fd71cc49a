/** npm run check: types, lint, format, protobuf schemas, docstrings and lock files. */
import { checks } from './checks/checks.mjs';
import { runSteps } from './checks/steps.mjs';

const failed = await runSteps(checks);
if (failed.length > 0) process.exitCode = 1;
