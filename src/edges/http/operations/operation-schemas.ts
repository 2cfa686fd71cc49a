import { Type } from 'typebox';
import { component, nullable, wordOf } from '../schema.ts';

const finding = component(
  'Finding',
  Type.Object({
    component: Type.String({
      description: 'What it is about, such as `database`, `broker`, `projection actions` or `sync supernodes`.',
    }),
    message: Type.String(),
  }),
);

/** That the process runs. */
export const liveness = component('Liveness', Type.Object({ status: wordOf(['ok'], 'Always the same.') }));

/** Whether the instance can be relied on, and why not. */
export const readiness = component(
  'Readiness',
  Type.Object({
    ready: Type.Boolean(),
    reasons: Type.Optional(Type.Array(finding.ref, { description: 'Why it is not ready; absent when it is.' })),
    warnings: Type.Array(finding.ref, {
      description: 'What is not as it should be, without making the answers wrong.',
    }),
    durability: nullable(
      Type.String({ description: 'Grade in force of the log: strict, bounded or relaxed; null while unknown.' }),
    ),
  }),
);

/** The tag of these routes. */
export const operationTag = { name: 'Operations', description: 'How this instance is.' };

/** All components of these routes. */
export const operationComponents = [finding, liveness, readiness];
