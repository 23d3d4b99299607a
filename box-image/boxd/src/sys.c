#define _GNU_SOURCE
#include "sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

int64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * SECONDS + time.tv_nsec;
}

void pause_ns(int64_t duration)
{
    struct timespec time = {.tv_sec = duration / SECONDS, .tv_nsec = duration % SECONDS};
    while (nanosleep(&time, &time) < 0 && errno == EINTR)
        ;
}

ssize_t read_some(int fd, void *memory, size_t length)
{
    ssize_t got;
    do
        got = read(fd, memory, length);
    while (got < 0 && errno == EINTR);
    return got;
}

ssize_t write_some(int fd, const void *memory, size_t length)
{
    ssize_t put;
    do
        put = write(fd, memory, length);
    while (put < 0 && errno == EINTR);
    return put;
}

int write_all(int fd, const void *memory, size_t length)
{
    const char *at = memory;
    while (length > 0) {
        ssize_t put = write_some(fd, at, length);
        if (put < 0)
            return errno;
        at += put;
        length -= (size_t)put;
    }
    return 0;
}

void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

bool set_nonblocking(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

bool make_pipe(int *read_end, int *write_end)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    *read_end = ends[0];
    *write_end = ends[1];
    return true;
}

void widen_pipe(int fd, int size)
{
    /* A terminal, or a user that has too much in pipes, keeps what it has. */
    if (fcntl(fd, F_SETPIPE_SZ, size) < 0)
        errno = 0;
}

bool make_message_pair(int *ours, int *theirs)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return false;
    *ours = ends[0];
    *theirs = ends[1];
    return true;
}

static void close_between(unsigned first, unsigned last)
{
    if (first > last || syscall(SYS_close_range, first, last, 0) == 0)
        return;
    long limit = sysconf(_SC_OPEN_MAX);
    if (limit < 0 || limit > 65536)
        limit = 65536;
    for (unsigned fd = first; fd <= last && fd < (unsigned)limit; fd++)
        close((int)fd);
}

static int compare_numbers(const void *left, const void *right)
{
    int a = *(const int *)left, b = *(const int *)right;
    return (a > b) - (a < b);
}

void close_others(int *kept, size_t count)
{
    if (count > 0)
        qsort(kept, count, sizeof *kept, compare_numbers);
    unsigned next = 3;
    for (size_t index = 0; index < count; index++) {
        if (kept[index] < (int)next)
            continue;
        if (kept[index] > (int)next)
            close_between(next, (unsigned)kept[index] - 1);
        next = (unsigned)kept[index] + 1;
    }
    close_between(next, ~0u);
}

bool detach_stdio(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return false;
    for (int fd = 0; fd < 3; fd++)
        if (dup2(null, fd) < 0)
            return false;
    if (null > 2)
        close(null);
    return true;
}

void block_signals(void)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    /* Set once here: every command inherits it. */
    struct sigaction usual = {.sa_handler = SIG_DFL};
    for (int number = 1; number < NSIG; number++)
        sigaction(number, &usual, NULL);
}

int watch_children(void)
{
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    return signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC);
}

void drain_watch(int watch)
{
    struct signalfd_siginfo news[8];
    while (read_some(watch, news, sizeof news) > 0)
        ;
}

void restore_signals(void)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

ssize_t read_small_file(int directory, const char *name, char *text, size_t size)
{
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return -1;
    size_t filled = 0;
    ssize_t got = 0;
    while (filled < size - 1 && (got = read_some(fd, text + filled, size - 1 - filled)) > 0)
        filled += (size_t)got;
    close(fd);
    text[filled] = 0;
    return got < 0 && filled == 0 ? -1 : (ssize_t)filled;
}
