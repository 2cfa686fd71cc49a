import { Type } from 'typebox';
import { type Method, method } from '../rpc/registry.ts';

const document = Type.Object(
  { openrpc: Type.String(), info: Type.Object({ title: Type.String() }), methods: Type.Array(Type.Unknown()) },
  { description: 'A document in the form of OpenRPC' },
);

const discover = (name: string): Method =>
  method({
    name,
    namespace: 'rpc',
    summary: 'The catalogue of all methods that can be called',
    params: [],
    result: document,
    handler: ({ catalogue }) => catalogue(),
  });

/** Methods that describe what can be called. */
export const catalogueMethods: readonly Method[] = [
  discover('rpc_discover'),
  discover('rpc.discover'),
  method({
    name: 'rpc_modules',
    namespace: 'rpc',
    summary: 'The namespaces that can be called',
    params: [],
    result: Type.Record(Type.String(), Type.String()),
    handler: ({ enabled }) => Object.fromEntries([...enabled].map((name) => [name, '1.0'])),
  }),
];
