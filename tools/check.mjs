/** npm run check: types, lint, format, protobuf schemas, docstrings and lock files. */
import { checks, checksAtOnce } from './checks/checks.mjs';
import { runSteps } from './checks/steps.mjs';

const failed = await runSteps(checks, { atOnce: checksAtOnce });
if (failed.length > 0) process.exitCode = 1;
