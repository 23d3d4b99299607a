#define _GNU_SOURCE
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "protocol.h"
#include "sys.h"

#define USUAL_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* The command gives way to us, for the processor and for the memory killer, so that it can be stopped. */
enum { COMMAND_NICE = 5 };
#define COMMAND_OOM_SCORE "800"

static const struct {
    uint8_t wire;
    int resource;
} LIMITS[] = {
    {LIMIT_CPU_SECONDS, RLIMIT_CPU},
    {LIMIT_FILE_BYTES, RLIMIT_FSIZE},
    {LIMIT_DESCRIPTORS, RLIMIT_NOFILE},
    {LIMIT_ADDRESS_BYTES, RLIMIT_AS},
};

/* @returns the kernel's number of a limit, -1 for an unknown one */
static int resource_of(uint8_t wire)
{
    for (size_t index = 0; index < sizeof LIMITS / sizeof LIMITS[0]; index++)
        if (LIMITS[index].wire == wire)
            return LIMITS[index].resource;
    return -1;
}

static void skip_strings(struct reader *reader)
{
    for (uint32_t count = take_u32(reader); count > 0; count--)
        take_string(reader);
}

bool spawn_is_valid(struct bytes payload, struct spawn_modes *modes)
{
    struct reader reader = reader_of(payload);
    modes->window = take_u32(&reader);
    struct reader first = reader;
    bool has_program = take_u32(&first) > 0 && take_string(&first).length > 0;
    skip_strings(&reader);
    skip_strings(&reader);
    take_string(&reader);
    uint8_t flags = take_u8(&reader);
    modes->has_input = (flags & SPAWN_STDIN) != 0;
    modes->is_tty = (flags & SPAWN_TTY) != 0;
    modes->rows = take_u16(&reader);
    modes->columns = take_u16(&reader);
    take_u64(&reader);
    for (uint32_t count = take_u32(&reader); count > 0; count--) {
        if (resource_of(take_u8(&reader)) < 0)
            return false;
        take_u64(&reader);
    }
    return has_program && (flags & ~(SPAWN_STDIN | SPAWN_TTY)) == 0 && !reader.broken;
}

/* A list of strings as the kernel wants it, in one piece of memory. */
static char **copy_strings(struct reader *reader)
{
    struct reader measured = *reader;
    size_t count = take_u32(&measured), size = (count + 1) * sizeof(char *);
    for (size_t index = 0; index < count; index++)
        size += take_string(&measured).length + 1;
    char **list = malloc(size);
    if (list == NULL)
        return NULL;
    char *text = (char *)(list + count + 1);
    take_u32(reader);
    for (size_t index = 0; index < count; index++) {
        struct bytes string = take_string(reader);
        list[index] = text;
        if (string.length > 0)
            memcpy(text, string.at, string.length);
        text += string.length;
        *text++ = 0;
    }
    list[count] = NULL;
    return list;
}

int spawn_plan_read(struct spawn_plan *plan, struct bytes payload)
{
    struct reader reader = reader_of(payload);
    take_u32(&reader);
    plan->argv = copy_strings(&reader);
    plan->envp = copy_strings(&reader);
    if (plan->argv == NULL || plan->envp == NULL)
        return ENOMEM;
    plan->cwd = take_string(&reader);
    take_u8(&reader);
    take_u16(&reader);
    take_u16(&reader);
    plan->timeout_ms = take_u64(&reader);
    plan->limits = (struct bytes){reader.at, reader.left};
    return 0;
}

static void apply_limits(struct bytes limits)
{
    struct reader reader = reader_of(limits);
    for (uint32_t count = take_u32(&reader); count > 0; count--) {
        int resource = resource_of(take_u8(&reader));
        struct rlimit wanted, current;
        wanted.rlim_cur = wanted.rlim_max = (rlim_t)take_u64(&reader);
        /* The box's own limit stays the upper one. */
        if (getrlimit(resource, &current) == 0 && current.rlim_max < wanted.rlim_max)
            wanted = (struct rlimit){.rlim_cur = current.rlim_max, .rlim_max = current.rlim_max};
        setrlimit(resource, &wanted);
    }
}

static void offer_to_memory_killer(void)
{
    int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file < 0)
        return;
    /* Refused where the box has a higher one already, which does as well. */
    if (write_some(file, COMMAND_OOM_SCORE, strlen(COMMAND_OOM_SCORE)) < 0)
        errno = 0;
    close(file);
}

static void fail_to_start(const char *program, int error)
{
    char text[512];
    const char *why = error == ENOENT ? "not found" : strerror(error);
    snprintf(text, sizeof text, "boxd: %.400s: %s\n", program, why);
    write_all(2, text, strlen(text));
}

static const char *search_path(char **envp)
{
    for (; *envp != NULL; envp++)
        if (strncmp(*envp, "PATH=", 5) == 0)
            return *envp + 5;
    return USUAL_PATH;
}

/* Tries one place after the other, like a shell. @returns the errno that says most */
static int run_program(const struct spawn_plan *plan)
{
    const char *program = plan->argv[0];
    if (strchr(program, '/') != NULL) {
        execve(program, plan->argv, plan->envp);
        return errno;
    }
    int error = ENOENT;
    for (const char *place = search_path(plan->envp); place != NULL;) {
        char candidate[4096];
        size_t length = strcspn(place, ":");
        int size = snprintf(candidate, sizeof candidate, "%.*s%s%s", (int)length, place, length > 0 ? "/" : "",
                            program);
        if (size > 0 && (size_t)size < sizeof candidate) {
            execve(candidate, plan->argv, plan->envp);
            if (errno != ENOENT && errno != ENOTDIR)
                error = errno;
            /* A list that is too long is so everywhere. */
            if (errno == E2BIG || errno == ENOMEM)
                break;
        }
        place = place[length] == ':' ? place + length + 1 : NULL;
    }
    return error;
}

_Noreturn void become_command(const struct spawn_plan *plan, const struct stdio *stdio, int directory)
{
    setsid();
    if (stdio->is_tty)
        ioctl(stdio->in, TIOCSCTTY, 0);
    if (dup2(stdio->in, 0) < 0 || dup2(stdio->out, 1) < 0 || dup2(stdio->error, 2) < 0 || fchdir(directory) < 0)
        _exit(126);
    close_others(NULL, 0);
    umask(022);
    if (nice(COMMAND_NICE) < 0)
        errno = 0;
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    offer_to_memory_killer();
    apply_limits(plan->limits);
    restore_signals();
    int error = run_program(plan);
    fail_to_start(plan->argv[0], error);
    _exit(error == ENOENT || error == ENOTDIR ? 127 : 126);
}
