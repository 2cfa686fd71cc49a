import { Type } from 'typebox';
import { component, nullable, time } from '../../http/schema.ts';

/** What names a task. */
export const taskReference = component(
  'TaskReference',
  Type.Object({
    task_id: Type.String({ description: 'Of the upload or download; nobody can guess it.' }),
    taskId: Type.String({ description: 'The same once more.' }),
  }),
);

/** One state of a task. */
export const statusEventSchema = component(
  'StatusEvent',
  Type.Object({
    id: Type.String({ description: 'Counts from 1 in its task.' }),
    task_id: Type.String(),
    status: Type.String({ description: '`sdk:…` or `supernode:…`; `sdk:completed` and `sdk:failed` are the last.' }),
    data: Type.Unsafe<Readonly<Record<string, unknown>>>({ type: 'object', additionalProperties: true }),
    created_at: time('When it was come to.'),
  }),
);

/** The request of a task. */
export const taskDetail = component(
  'TaskDetail',
  Type.Unsafe<Readonly<Record<string, unknown>>>(
    Type.Object({
      task_id: Type.String(),
      action_id: Type.String(),
      kind: Type.String({ description: '`upload` or `download`.' }),
      file_name: Type.Optional(Type.String()),
      file_path: Type.Optional(Type.String({ description: 'A name for the stored upload, no path of the host.' })),
      file_size_kbs: Type.Optional(Type.Integer({ description: 'KiB, rounded up.' })),
      signature: Type.Optional(Type.String({ description: 'As it was sent; of uploads only.' })),
      status: Type.String({ description: 'The latest state.' }),
      created_at: time('When the task began.'),
    }),
  ),
);

/** Tasks of a list. */
export const taskList = component(
  'TaskList',
  Type.Object({
    requests: Type.Array(
      Type.Object({
        task_id: Type.String(),
        action_id: Type.String(),
        file_name: nullable(Type.String()),
        file_size_kbs: nullable(Type.Integer()),
        status: Type.String(),
        created_at: time('When the task began.'),
      }),
    ),
    count: Type.Integer({ description: 'All of them, also those that the list has no room for.' }),
  }),
);
