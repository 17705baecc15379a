import { expect } from 'chai';
import { leaveOut } from './eventStores.ts';
import { failureOf } from './failures.ts';
import { whyNoBroker } from './kafkaArtifacts.ts';
import { startKafkaBroker } from './kafkaBroker.ts';

const title = 'a Kafka broker for specs';
const why = whyNoBroker();
if (why !== undefined) leaveOut(title, why);
else {
  describe(title, () => {
    it('that ends while it starts is an error at once, with the last lines of its log', async () => {
      const error = await failureOf(
        startKafkaBroker({ properties: { 'metric.reporters': 'no.such.Class' } }),
      );
      expect(String(error)).to.match(/The broker has ended:\n[\s\S]*no\.such\.Class/);
    });

    it('is killed and started again, and leaves nothing behind', async () => {
      const broker = await startKafkaBroker();
      const first = broker.pid();
      await broker.restart();
      expect(broker.pid()).not.to.equal(first);
      await broker.stop();
      expect(() => process.kill(broker.pid(), 0)).to.throw('ESRCH');
    });
  });
}
