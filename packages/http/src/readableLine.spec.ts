import { expect } from 'chai';
import { createLogger, type Logger } from './logger.ts';

describe('the log on a terminal', () => {
  const shown = (write: (logger: Logger) => void, secrets: readonly string[] = []): string => {
    const lines: string[] = [];
    const destination = { write: (line: string) => lines.push(line) };
    write(createLogger({ level: 'debug', destination, secrets, isTerminal: true }));
    return lines.join('');
  };

  it('is one line of words: time, level, message, and the fields as name=value', () => {
    expect(
      shown((logger) => logger.info({ url: 'http://127.0.0.1:8080/v1', roles: ['api'] }, 'ready')),
    ).to.match(/^\d\d:\d\d:\d\d INFO {2}ready url=http:\/\/127\.0\.0\.1:8080\/v1 roles=\["api"\]\n$/);
    expect(shown((logger) => logger.warn({ reason: 'two words' }, 'slow'))).to.match(
      /WARN {2}slow reason="two words"\n$/,
    );
  });

  it('has the stack of an error below the line, indented', () => {
    const text = shown((logger) => logger.error({ err: new Error('broken') }, 'failed'));
    expect(text).to.match(/ERROR failed type=Error message=broken\n {4}Error: broken\n {4} {4}at /);
  });

  it('holds no secret, and no command to the terminal', () => {
    const text = shown(
      (logger) => logger.info({ key: 'sk_test_AbC123', '\u001b[2J': 'hunter2' }, 'a\u001b[2Jb\nc'),
      ['hunter2'],
    );
    expect(text).not.to.include('AbC123').and.not.to.include('hunter2').and.not.to.include('\u001b');
    expect(text.split('\n')).to.have.lengthOf(2);
  });
});
