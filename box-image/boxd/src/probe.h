#ifndef BOXD_PROBE_H
#define BOXD_PROBE_H

/* Tries what a box must not be able to do, reads its limits, and writes one line of JSON to stdout. @return an exit code */
int probe(void);

#endif
