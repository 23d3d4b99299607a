/** Commands that do not want to end. */
const SLEEP = "sleep 1000";

export const VICTIMS: Readonly<Record<string, string>> = {
  plain: SLEEP,
  "a child": `${SLEEP} & ${SLEEP}`,
  "TERM ignored": `trap '' TERM HUP INT; ${SLEEP} & ${SLEEP}`,
  "a session of its own": `setsid ${SLEEP} & setsid setsid ${SLEEP} & ${SLEEP}`,
  "a double fork": `(sh -c 'setsid ${SLEEP} & exit' &); ${SLEEP}`,
  "no environment": `env -i nohup setsid ${SLEEP} >/dev/null 2>&1 & ${SLEEP}`,
  "stopped by itself": `${SLEEP} & kill -STOP $!; kill -STOP $$`,
  "a daemon": `python3 -c 'import os, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
time.sleep(1000)'; ${SLEEP}`,
  "a flood of output": "yes",
  "its supervisor stopped": `setsid ${SLEEP} & kill -STOP $PPID; ${SLEEP}`,
};

/** Many processes that are never the same from one look to the next. */
export const FORKERS: Readonly<Record<string, string>> = {
  "busy forkers": "for i in 1 2 3 4; do (while :; do (sleep 0.01 &); done) & done; wait",
  "a chain of forks": "python3 -c 'import os\nwhile True:\n if os.fork(): os._exit(0)'; sleep 1000",
};

export const BOMBS: Readonly<Record<string, string>> = {
  "of a shell": "f() { f | f & }; f; sleep 1000",
  "of processes": "python3 -c 'import os\nwhile True:\n try: os.fork()\n except OSError: pass'",
  "of sessions":
    "python3 -c 'import os\nwhile True:\n try:\n  os.fork(); os.setsid()\n except OSError: pass'",
};
