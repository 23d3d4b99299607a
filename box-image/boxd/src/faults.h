/* The words for what went wrong. Inside, a fault is an errno; these have no errno of their own and borrow one. */
#ifndef BOXD_FAULTS_H
#define BOXD_FAULTS_H

#include <errno.h>

#define FAULT_NOT_REGULAR EISDIR
#define FAULT_ESCAPES EXDEV
#define FAULT_BAD_PATH EILSEQ
#define FAULT_CHANGED ESTALE
#define FAULT_SIZE EPROTO
#define FAULT_BAD_ARCHIVE EBADMSG
#define FAULT_TOO_LARGE EOVERFLOW
/* The host took the request back or is gone. */
#define FAULT_CANCELLED ECANCELED

/* @param otherwise the word for what has none, such as a missing permission */
const char *fault_word(int error, const char *otherwise);

#endif
