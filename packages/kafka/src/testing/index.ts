export { readTopics } from './topicReader.ts';
