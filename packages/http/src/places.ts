/** How many requests are served at a time: here, and in all threads that count in the same place. */
export function createPlaces(inAll: Int32Array, maximum: number) {
  let taken = 0;
  return {
    /** False where none is left. */
    take(): boolean {
      const isLeft = Atomics.add(inAll, 0, 1) < maximum;
      if (isLeft) taken += 1;
      else Atomics.sub(inAll, 0, 1);
      return isLeft;
    },
    leave(): void {
      taken -= 1;
      Atomics.sub(inAll, 0, 1);
    },
    taken: () => taken,
    /** Long polls leave half of the places to others. */
    mayWait: () => Atomics.load(inAll, 0) * 2 <= maximum,
  };
}
