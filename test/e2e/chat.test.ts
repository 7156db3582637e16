// Chat on the embedded store.
import { chatSuite } from "../fixtures/chat.suite.ts";

chatSuite({ flags: () => Promise.resolve({}) });
