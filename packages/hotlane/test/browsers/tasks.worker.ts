import * as tasks from 'hotlane/testing/tasks';
import { expose } from 'hotlane/web-worker';

expose(tasks);
