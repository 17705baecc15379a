/**
 * What of the platform stands in the types of this package: structures of our own, so that it compiles where the
 * library DOM is not there.
 */

/** The platform's `AbortSignal`, where its types know one. */
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

/** What is read of a `Response`. */
export interface FetchAnswer {
  readonly ok: boolean;
  readonly status: number;
  readonly headers: AnswerHeaders;
  text(): Promise<string>;
}

export interface AnswerHeaders {
  get(name: string): string | null;
}

/** `fetch`, as far as it is used here. */
export type Fetch = (url: string, init: FetchInit) => Promise<FetchAnswer>;
