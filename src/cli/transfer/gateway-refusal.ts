import { AppError, type ErrorCode, errorCodes } from '../../kit/errors.ts';
import { parseBounded } from '../../kit/bounded-json.ts';

/** A gateway's response, as far as the caller needs it. */
export type GatewayAnswer = Readonly<{ status: number; text: string }>;

const remedies: Readonly<Partial<Record<ErrorCode, string>>> = {
  UNAUTHORIZED: 'Sign with the key of the action’s creator (--key-file, --key-type, or --signature).',
  NOT_FOUND: 'Look at the id; an action that was just registered may take some seconds.',
  GONE: 'Run the same command again: the file is fetched anew.',
  TOO_MANY_REQUESTS: 'Wait a moment and run the same command again.',
  SERVICE_UNAVAILABLE: 'No SuperNode can be had now; try again in a minute.',
  INSUFFICIENT_STORAGE: 'The gateway has no room for the file now; try again later.',
};

/** The refusal of a gateway as an error: its own words and code, and what can be done about it. */
export function refusalOf({ status, text }: GatewayAnswer): AppError {
  const { error, code } = fieldsOf(text);
  const known = errorCodes.find((one) => one === code) ?? (status >= 500 ? 'UNAVAILABLE' : 'INVALID_ARGUMENT');
  const words =
    typeof error === 'string' && error !== '' ? error.replace(/\.$/, '') : `it answers with status ${status}`;
  const remedy = remedies[known];
  return new AppError(known, `The gateway refuses: ${words}${remedy === undefined ? '' : `. ${remedy}`}`);
}

/** The task that an accepted request names; fails with `UNAVAILABLE` where it names none. */
export function taskIn({ text }: GatewayAnswer): string {
  const { task_id: id } = fieldsOf(text);
  if (typeof id === 'string' && id !== '') return id;
  throw new AppError('UNAVAILABLE', 'The gateway accepts the request and names no task: is it a transfer gateway?');
}

function fieldsOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const parsed = parseBounded(text, { depth: 8, values: 1000 });
    return typeof parsed === 'object' && parsed !== null ? { ...parsed } : {};
  } catch {
    // Not a gateway's own response, but for instance a proxy's page: the status is all that can be reported.
    return {};
  }
}
