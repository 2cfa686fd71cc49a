/** Figures in Prometheus' text format without the label of their network, which is the same for all of a process. */
export function withoutNetwork(figures: string): string {
  return figures.replaceAll(/network="[^"]*",?/g, '').replaceAll('{} ', ' ');
}

/** The figures that a process reports, without the label of its network. */
export async function figuresOf(base: string): Promise<string> {
  return withoutNetwork(await (await fetch(`${base}/metrics`)).text());
}
