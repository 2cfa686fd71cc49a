/** What the pages use of htm/preact/standalone, which ships no types. */

/** A part of a page, as `html` makes it. */
export type Markup = object | string | number | null | undefined | false | readonly Markup[];
/** Makes parts of a page from a template. */
export function html(strings: TemplateStringsArray, ...values: unknown[]): Markup;
/** Shows a part within an element. */
export function render(part: Markup, parent: Element): void;
/** State of a component. */
export function useState<T>(initial: T | (() => T)): [T, (next: T | ((before: T) => T)) => void];
/** Runs after the component is shown, whenever an input changes; what it returns undoes it. */
export function useEffect(effect: () => void | (() => void), inputs?: readonly unknown[]): void;
/** The same before the browser paints. */
export function useLayoutEffect(effect: () => void | (() => void), inputs?: readonly unknown[]): void;
/** A value that is made anew only when an input changes. */
export function useMemo<T>(make: () => T, inputs: readonly unknown[]): T;
/** A box that outlives renderings. */
export function useRef<T>(initial: T): { current: T };
