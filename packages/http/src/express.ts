/** Express, loaded when it is first used: a thread that serves nothing does without it. ADR 0061. */
import { createRequire } from 'node:module';
import type express from 'express';

const require = createRequire(import.meta.url);

export const loadExpress = (): typeof express => require('express');
