import { installed, outputOf } from './steps.mjs';

/**
 * Schemas that the parent commit's readers could not read any more; nothing where there is no parent to compare with.
 */
export async function brokenSchemas() {
  const parent = (await outputOf('git', ['rev-parse', '--verify', '--quiet', 'HEAD^'])).trim();
  if (!parent) return undefined;
  const schemas = await outputOf('git', ['ls-tree', '-r', '--name-only', parent, '--', 'proto', 'buf.yaml']);
  if (!/\.proto$/m.test(schemas) || !/^buf\.yaml$/m.test(schemas)) return undefined;
  return installed('buf', 'breaking', '--against', `.git#ref=${parent}`);
}
