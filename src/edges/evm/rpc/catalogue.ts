import type { TSchema } from 'typebox';
import type { Namespace } from '../namespaces.ts';

/** A parameter by its position; those after an optional one are optional too. */
export type Parameter = Readonly<{ name: string; schema: TSchema; optional?: true }>;

/** Parameters and their result on a fresh local network; where it `varies`, the form of the result alone. */
export type Example = Readonly<{ params: readonly unknown[]; result: unknown; varies?: true }>;

/** The description of a method: its name, its parameters and its result. */
export type Described = Readonly<{
  name: string;
  namespace: Namespace;
  summary: string;
  params: readonly Parameter[];
  result: TSchema;
  examples?: readonly Example[];
}>;

/** The catalogue of methods in the form of OpenRPC. */
export type Catalogue = Readonly<{
  openrpc: '1.2.6';
  info: Readonly<{ title: string; version: string; description: string; license: Readonly<{ name: string }> }>;
  servers: readonly Readonly<{ name: string; url: string }>[];
  methods: readonly Readonly<Record<string, unknown>>[];
}>;

/** Options of a catalogue. */
export type CatalogueOptions = Readonly<{ version: string; url: string; enabled: ReadonlySet<Namespace> }>;

/**
 * The catalogue of those methods that can be called: all of them, and nothing else.
 *
 * @example
 * catalogueOf(methods, { version: '0.1.0', url: 'http://localhost:8545', enabled: new Set(['eth']) });
 */
export function catalogueOf(methods: readonly Described[], { version, url, enabled }: CatalogueOptions): Catalogue {
  return {
    openrpc: '1.2.6',
    info: {
      title: 'Annals EVM JSON-RPC',
      version,
      description: 'Every method that this process answers, made from the table that it answers from.',
      license: { name: 'Apache-2.0' },
    },
    servers: [{ name: 'JSON-RPC over HTTP', url }],
    methods: methods.filter(({ namespace }) => enabled.has(namespace)).map(described),
  };
}

function described({
  name,
  namespace,
  summary,
  params,
  result,
  examples,
}: Described): Readonly<Record<string, unknown>> {
  return {
    name,
    summary,
    tags: [{ name: namespace }],
    paramStructure: 'by-position',
    params: params.map(({ name: parameter, schema, optional }) => ({
      name: parameter,
      required: optional !== true,
      schema,
    })),
    result: { name: 'result', schema: result },
    ...(examples && {
      examples: examples.map((example, index) => ({
        name: `${name} ${index + 1}`,
        params: example.params.map((value, at) => ({ name: params[at]?.name ?? String(at), value })),
        result: { name: 'result', value: example.result },
      })),
    }),
  };
}
