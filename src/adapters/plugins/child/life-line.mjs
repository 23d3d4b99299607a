/** A thread that waits for the end of standard input: the service is gone then, and this process group goes with it. */
import { Socket } from "node:net";

const end = () => process.kill(-process.pid, "SIGKILL");
new Socket({ fd: 0, readable: true, writable: false }).on("error", end).on("close", end).resume();
