#ifndef BOXD_PROBE_TRIES_H
#define BOXD_PROBE_TRIES_H

#include <stdio.h>

/* Tries what a box must not be able to do: the fields `calls` (by name: an errno, "allowed" or "unknown") and `reaped`. */
void put_tries(FILE *out);

#endif
