import { expect } from 'chai';
import { createFailureLog } from './failureLog.ts';
import { createLogger } from './logger.ts';

const refusal = (code: string) =>
  ({ status: 409, code, body: '', origin: 'refused', retryAfterSeconds: undefined }) as const;

describe('the log of failures', () => {
  const newLog = () => {
    const lines: Record<string, unknown>[] = [];
    let elapsedMs = 0;
    const logger = createLogger({
      level: 'info',
      destination: { write: (line) => lines.push(JSON.parse(line)) },
    });
    const log = createFailureLog(logger, () => elapsedMs);
    const refuse = (code: string, requestId: string) =>
      log.failed(refusal(code), undefined, { requestId, route: 'POST /ledger/bet' });
    const advance = (ms: number) => {
      elapsedMs += ms;
    };
    return { lines, refuse, advance };
  };

  it('has a line for a refusal: which request, where, and the answer', () => {
    const { lines, refuse } = newLog();
    refuse('ledger/insufficient_balance', 'r1');
    expect(lines).to.have.lengthOf(1);
    const { time: _time, msg: _message, ...rest } = lines[0] ?? {};
    expect(rest).to.deep.equal({
      level: 'info',
      requestId: 'r1',
      route: 'POST /ledger/bet',
      status: 409,
      code: 'ledger/insufficient_balance',
    });
  });

  it('has twenty lines a second per code, and counts the suppressed ones', () => {
    const { lines, refuse, advance } = newLog();
    for (let index = 0; index < 1_000; index++) refuse('auth/invalid_key', `r${index}`);
    expect(lines).to.have.lengthOf(20);
    refuse('ledger/insufficient_balance', 'another');
    expect(lines.at(-1)).to.include({ requestId: 'another' }).and.not.have.property('suppressed');
    advance(1_000);
    refuse('auth/invalid_key', 'later');
    expect(lines.at(-1)).to.include({ requestId: 'later', suppressed: 980 });
    refuse('auth/invalid_key', 'after that');
    expect(lines.at(-1)).to.include({ requestId: 'after that' }).and.not.have.property('suppressed');
  });
});
