/** Admits a limited number at a time, in order of arrival. */
export interface Limiter {
  /** Resolves to the function that releases the place. */
  enter(): Promise<() => void>;
}

export function createLimiter(maximum: number): Limiter {
  const waiting: (() => void)[] = [];
  let inside = 0;
  const leave = (): void => {
    const next = waiting.shift();
    if (next) next();
    else inside -= 1;
  };
  return {
    async enter() {
      if (inside < maximum) inside += 1;
      else await new Promise<void>((resolve) => waiting.push(resolve));
      let isInside = true;
      return () => {
        if (isInside) leave();
        isInside = false;
      };
    },
  };
}
