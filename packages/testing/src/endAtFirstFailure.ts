/**
 * Called in a `describe` in which each test builds on the one before: the first failure ends it. Mocha's own `bail`
 * would end every file of a parallel run.
 */
export function endAtFirstFailure(): void {
  afterEach('what follows builds on this', function () {
    if (this.currentTest?.state === 'failed') throw new Error('The tests that follow were not run.');
  });
}
