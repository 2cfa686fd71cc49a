import Schema from 'typebox/schema';
import { AppError } from '../../commands/errors.ts';

/**
 * A reader of a JSON body, made from the schema that also makes its types and its documentation.
 *
 * Strict: a body that does not fit is `INVALID_ARGUMENT`, naming the first place that does not. The schema holds no
 * references.
 */
export function bodyReader(
  schema: unknown,
): (given: unknown) => { value: Record<string, unknown> } | { error: AppError } {
  const validator = Schema.Compile(schema as object);
  return (given) => {
    if (validator.Check(given)) return { value: given as Record<string, unknown> };
    const [, [problem]] = validator.Errors(given);
    const place = problem?.instancePath.replaceAll('/', '.').replace(/^\./, '') || 'the body';
    return { error: new AppError('INVALID_ARGUMENT', `${place} does not fit: it ${problem?.message ?? 'is wrong'}.`) };
  };
}
