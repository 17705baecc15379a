/**
 * The platform's types, as used in the types of this package: structures of our own, so that it compiles
 * without the DOM library.
 */

/** The platform's `AbortSignal`, if its types include one. */
export type Signal = typeof globalThis extends { AbortSignal: { prototype: infer Known } }
  ? Known
  : {
      readonly aborted: boolean;
      readonly reason: unknown;
      throwIfAborted(): void;
      addEventListener(type: 'abort', listener: () => void): void;
      removeEventListener(type: 'abort', listener: () => void): void;
    };

export interface FetchInit {
  readonly method: 'GET' | 'POST';
  readonly headers: Record<string, string>;
  readonly redirect: 'error';
  readonly credentials: 'omit';
  readonly signal: Signal;
  readonly body?: string;
}

/** The parts of a `Response` that are read. */
export interface FetchAnswer {
  readonly ok: boolean;
  readonly status: number;
  readonly headers: AnswerHeaders;
  text(): Promise<string>;
}

export interface AnswerHeaders {
  get(name: string): string | null;
}

/** The parts of `fetch` that are used here. */
export type Fetch = (url: string, init: FetchInit) => Promise<FetchAnswer>;
