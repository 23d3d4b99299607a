/* What `boxd probe` tries. Harmless also where everything is allowed: what is tried either is refused or ends with the
   process that tried it. */
#define _GNU_SOURCE
#include "probe-tries.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_io_uring_setup
#define SYS_io_uring_setup 425
#endif
#define VSOCK_FAMILY 40
enum { REAP_STEPS = 100, REAP_STEP_US = 10000, ORPHAN_US = 20000 };

static const char *describe_error(int error)
{
    static const struct {
        int error;
        const char *word;
    } words[] = {{-1, "unknown"}, {0, "allowed"}, {EACCES, "EACCES"}, {EAFNOSUPPORT, "EAFNOSUPPORT"}, {EFBIG, "EFBIG"},
        {EINVAL, "EINVAL"}, {ENOENT, "ENOENT"}, {ENOSYS, "ENOSYS"}, {EPERM, "EPERM"}, {EROFS, "EROFS"}};
    for (size_t index = 0; index < sizeof words / sizeof *words; index++)
        if (words[index].error == error)
            return words[index].word;
    return "other";
}

/* Tries in a process of its own, which may be killed or changed by what it tries. @return an errno, 0 or -1 */
static int try_apart(int (*attempt)(void))
{
    int status;
    pid_t child = fork();
    if (child < 0)
        return -1;
    if (child == 0) {
        errno = 0;
        _exit(attempt() >= 0 ? 0 : errno);
    }
    if (waitpid(child, &status, 0) != child)
        return -1;
    /* Killed for trying counts as refused. */
    return WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;
}

static int try_io_uring(void)
{
    uint32_t parameters[30] = {0};
    return (int)syscall(SYS_io_uring_setup, 1, parameters);
}

static int try_vsock(void)
{
    return socket(VSOCK_FAMILY, SOCK_STREAM, 0);
}

static int try_ptrace(void)
{
    return (int)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

/* Of a kind that nobody has: who may mount hears of that, and nothing is mounted. */
static int try_mount(void)
{
    mount("none", "/", "berth-no-such-kind", 0, NULL);
    return errno == ENODEV ? 0 : -1;
}

static int try_unshare(void)
{
    return unshare(CLONE_NEWUSER);
}

/* A file in memory, one byte longer than files may be. */
static int try_large_file(void)
{
    struct rlimit limit;
    signal(SIGXFSZ, SIG_IGN);
    int fd = memfd_create("probe", MFD_CLOEXEC);
    if (fd < 0 || getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        return 0;
    return ftruncate(fd, (off_t)limit.rlim_cur + 1);
}

/* What the first process holds, on which the engine may be listening. */
static int try_first_process(void)
{
    for (int number = 0; number < 3; number++) {
        char path[32];
        snprintf(path, sizeof path, "/proc/1/fd/%d", number);
        if (open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC) >= 0)
            return 0;
    }
    return -1;
}

/* @return the pid of a process whose parent has gone and that ends in a moment; -1 = none could be made */
static pid_t make_orphan(void)
{
    pid_t orphan = -1;
    int status, ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    pid_t parent = fork();
    if (parent == 0) {
        pid_t child = fork();
        if (child == 0) {
            usleep(ORPHAN_US);
            _exit(0);
        }
        _exit(write(ends[1], &child, sizeof child) == sizeof child ? 0 : 1);
    }
    close(ends[1]);
    bool is_made = parent > 0 && waitpid(parent, &status, 0) == parent && read(ends[0], &orphan, sizeof orphan) == sizeof orphan;
    close(ends[0]);
    return is_made ? orphan : -1;
}

/* Whether somebody takes an ended process whose parent is gone: "true", "false", or "null" = unknown. */
static const char *find_reaper(void)
{
    pid_t orphan = make_orphan();
    if (orphan <= 0)
        return "null";
    for (int step = 0; step < REAP_STEPS; step++) {
        if (kill(orphan, 0) < 0 && errno == ESRCH)
            return "true";
        usleep(REAP_STEP_US);
    }
    return "false";
}

void put_tries(FILE *out)
{
    static const struct {
        const char *name;
        int (*attempt)(void);
    } calls[] = {{"io_uring_setup", try_io_uring}, {"vsock", try_vsock}, {"ptrace", try_ptrace}, {"mount", try_mount},
        {"unshare", try_unshare}, {"large_file", try_large_file}, {"first_process", try_first_process}};
    fputs("\"calls\":{", out);
    /* A child has a copy of what is buffered here and never flushes it. */
    for (size_t index = 0; index < sizeof calls / sizeof *calls; index++)
        fprintf(out, "%s\"%s\":\"%s\"", index == 0 ? "" : ",", calls[index].name,
                describe_error(try_apart(calls[index].attempt)));
    fprintf(out, "},\"reaped\":%s,", find_reaper());
}
