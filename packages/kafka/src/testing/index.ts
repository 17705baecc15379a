export { readTopics, specClient } from './topicReader.ts';
