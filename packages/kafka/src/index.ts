export { type KafkaGiven, kafkaContext } from './context.ts';
export { PREFIX as TOPIC_PREFIX } from './domain/topics.ts';
export { type EventSchema, eventSchemas } from './eventSchemas.ts';
export { KAFKA_CONSUMER } from './relay.ts';
export { brokersUrl, type KafkaSettings, MECHANISMS } from './settings.ts';
