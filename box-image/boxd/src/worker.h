/*
 * A process of its own for one file request: a slow disk holds up nobody else, and the code may simply wait. It inherits
 * the request in memory, answers in messages (type byte, payload) that the server puts into frames, and is told of a
 * cancel by the end of its descriptors.
 */
#ifndef BOXD_WORKER_H
#define BOXD_WORKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "files-open.h"
#include "frames.h"

struct worker {
    const struct root *root;
    /* Messages to the server. */
    int socket;
    /* Frames of the host with contents; -1 where the request has none. */
    int input;
    /* What is left of the frame that is being read from `input`. */
    size_t input_left;
    /* Room for one payload. */
    uint8_t *buffer;
};

/* All return 0 or an errno; FAULT_CANCELLED means: clean up and leave. */
int tell(struct worker *worker, uint8_t type, struct bytes payload);
int tell_fault(struct worker *worker, uint32_t index, const char *word);
int tell_entry(struct worker *worker, uint32_t index, const struct stat *info);
int tell_finished(struct worker *worker, uint32_t index);
/* For long work without messages: whether the host still wants it. */
int check_wanted(const struct worker *worker);

enum content { CONTENT_BYTES, CONTENT_END };
/* The next bytes of the item, at most one payload, into `buffer`. */
int next_content(struct worker *worker, enum content *kind, size_t *length);
/* Passes over the rest of the item. */
int skip_content(struct worker *worker);

/* Works on a request to its end and leaves; never returns. */
_Noreturn void work(struct worker *worker, const struct frame *request);

#endif
