/* System calls with the care that every caller needs: interrupted calls go on, descriptors never leak into commands. */
#ifndef BOXD_SYS_H
#define BOXD_SYS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MILLISECONDS INT64_C(1000000)
#define SECONDS INT64_C(1000000000)

/* Nanoseconds of the monotonic clock. */
int64_t now_ns(void);
void pause_ns(int64_t duration);

ssize_t read_some(int fd, void *memory, size_t length);
ssize_t write_some(int fd, const void *memory, size_t length);
/* @returns 0 or an errno */
int write_all(int fd, const void *memory, size_t length);

/* Closes and forgets. */
void close_fd(int *fd);
bool set_nonblocking(int fd);
bool make_pipe(int *read_end, int *write_end);
/* Lets more bytes wait in a pipe, where that can be had. */
void widen_pipe(int fd, int size);
/* Keeps message boundaries, reports the end of the other side. */
bool make_message_pair(int *ours, int *theirs);

/* Closes everything above 2 but these; -1 in the list is skipped. The list is put in order. */
void close_others(int *kept, size_t count);
/* Takes descriptors 0-2 away from the channel. */
bool detach_stdio(void);

/* Blocks all signals that can be blocked, so that nobody of the same user stops us by a polite one; none stays ignored. */
void block_signals(void);
/* A descriptor that is readable when a child ended. */
int watch_children(void);
void drain_watch(int watch);
/* What a command expects: nothing blocked. */
void restore_signals(void);

/* Reads a small file whole. @returns bytes read, -1 without it; the text is closed with NUL. */
ssize_t read_small_file(int directory, const char *name, char *text, size_t size);

#endif
