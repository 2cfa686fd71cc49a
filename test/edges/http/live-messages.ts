import { Ajv, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';

type Node = Readonly<Record<string, unknown>>;

/** Returns what is wrong with the text of an event that came on a channel; nothing where it is as the document says. */
export type CheckMessage = (text: string, channel: string) => unknown[];

const asNode = (value: unknown): Node => (typeof value === 'object' && value !== null ? { ...value } : {});

/** Checks events against the messages of an AsyncAPI document. */
export function messagesOf(document: Node): CheckMessage {
  const ajv = new Ajv({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema(document, 'asyncapi');
  const compiled = new Map<string, ValidateFunction>();
  const validatorOf = (name: string): ValidateFunction => {
    const made = compiled.get(name) ?? ajv.compile({ $ref: `asyncapi#/components/messages/${name}/payload` });
    compiled.set(name, made);
    return made;
  };
  return (text, channel) => {
    const event: unknown = JSON.parse(text);
    const name = String(asNode(event)['type']).split('.')[1] ?? '';
    const names = Object.keys(asNode(asNode(asNode(document['channels'])[channel])['messages']));
    if (!names.includes(name)) return [`${channel} has no message ${name}`];
    const validate = validatorOf(name);
    return validate(event) ? [] : (validate.errors ?? ['?']);
  };
}

async function documentOf(base: string): Promise<Node> {
  const answer = await fetch(`${base}/asyncapi.json`);
  if (!answer.ok) throw new Error(`${base} has no AsyncAPI document: ${answer.status}`);
  return (await answer.json()) as Node;
}

/** Checks events against the document of a running program. */
export async function openMessages(base: string): Promise<CheckMessage> {
  return messagesOf(await documentOf(base));
}

/** Where the document of a running program says that its events are heard over WebSocket. */
export async function webSocketIn(base: string): Promise<string> {
  const { host, protocol, variables } = asNode(asNode((await documentOf(base))['servers'])['websocket']);
  const valueOf = (name: string): string => String(asNode(asNode(variables)[name])['default']);
  return `${String(protocol)}://${String(host).replace(/\{(\w+)\}/g, (_, name: string) => valueOf(name))}`;
}

/** The events of all public logs of a running program that are not as its document says, with what is wrong. */
export async function misfitsIn(base: string): Promise<unknown[]> {
  const check = await openMessages(base);
  const { logs } = (await (await fetch(`${base}/v1/logs`)).json()) as { logs: { stream: string }[] };
  const wrong: unknown[] = logs.length === 0 ? ['There is no log'] : [];
  for (const { stream } of logs)
    for await (const line of linesOf(base, stream))
      wrong.push(...check(line, `log_${stream}`).map((why) => ({ line, why })));
  return wrong;
}

async function* linesOf(base: string, stream: string): AsyncGenerator<string, void> {
  for (let after = '0'; ;) {
    const answer = await fetch(`${base}/log/${stream}/events?after=${after}`);
    if (!answer.ok) throw new Error(`The log ${stream} is not answered: ${answer.status}`);
    const lines = (await answer.text()).split('\n').slice(0, -1);
    if (lines.length === 0) return;
    yield* lines;
    after = answer.headers.get('annals-through') ?? '';
  }
}
