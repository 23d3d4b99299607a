#define _GNU_SOURCE
#include "facts.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "sys.h"

#define MEMORY_V1 "/sys/fs/cgroup/memory/"
#define PIDS_V1 "/sys/fs/cgroup/pids/"
#define UNIFIED "/sys/fs/cgroup/"

/* The number behind a word at the beginning of a line; an empty word takes the first number of the file. */
static int64_t find_number(const char *path, const char *word)
{
    char text[4096];
    if (read_small_file(AT_FDCWD, path, text, sizeof text) < 0)
        return -1;
    size_t length = strlen(word);
    for (char *line = text; line != NULL && *line != 0;) {
        char *end = strchr(line, '\n');
        const char *value = length == 0 ? line : line + length + 1;
        bool is_wanted = length == 0 || (strncmp(line, word, length) == 0 && line[length] == ' ');
        if (is_wanted && *value >= '0' && *value <= '9')
            return strtoll(value, NULL, 10);
        line = end == NULL ? NULL : end + 1;
    }
    return -1;
}

static int64_t first_number(const char *word, const char *old, const char *unified)
{
    int64_t found = find_number(old, word);
    return found >= 0 ? found : find_number(unified, word);
}

struct counters read_counters(void)
{
    return (struct counters){
        .memory_kills = first_number("oom_kill", MEMORY_V1 "memory.oom_control", UNIFIED "memory.events"),
        .processes_refused = first_number("max", PIDS_V1 "pids.events", UNIFIED "pids.events"),
    };
}

void put_usage(struct writer *writer, int root)
{
    struct statvfs space = {0};
    if (fstatvfs(root, &space) < 0)
        memset(&space, 0, sizeof space);
    put_u64(writer, (uint64_t)space.f_blocks * space.f_frsize);
    put_u64(writer, (uint64_t)(space.f_blocks - space.f_bfree) * space.f_frsize);
    put_u64(writer, (uint64_t)space.f_bavail * space.f_frsize);
    put_u64(writer, space.f_files);
    put_u64(writer, space.f_files - space.f_ffree);
    struct counters counters = read_counters();
    put_u64(writer, (uint64_t)counters.memory_kills);
    put_u64(writer, (uint64_t)counters.processes_refused);
    put_u64(writer, (uint64_t)first_number("", MEMORY_V1 "memory.usage_in_bytes", UNIFIED "memory.current"));
    put_u64(writer, (uint64_t)first_number("", MEMORY_V1 "memory.limit_in_bytes", UNIFIED "memory.max"));
    put_u64(writer, (uint64_t)first_number("", PIDS_V1 "pids.current", UNIFIED "pids.current"));
    put_u64(writer, (uint64_t)first_number("", PIDS_V1 "pids.max", UNIFIED "pids.max"));
}

struct status {
    char name[64];
    char state;
    unsigned long parent, owner, resident_kib;
};

static bool read_status(int proc, const char *pid, struct status *status)
{
    char path[300], text[4096];
    snprintf(path, sizeof path, "%s/status", pid);
    if (read_small_file(proc, path, text, sizeof text) < 0)
        return false;
    memset(status, 0, sizeof *status);
    status->owner = (unsigned long)-1;
    for (char *line = text, *end; line != NULL && *line != 0; line = end == NULL ? NULL : end + 1) {
        end = strchr(line, '\n');
        if (strncmp(line, "Name:\t", 6) == 0) {
            size_t length = end == NULL ? strlen(line + 6) : (size_t)(end - line - 6);
            snprintf(status->name, sizeof status->name, "%.*s", (int)(length < 63 ? length : 63), line + 6);
        }
        sscanf(line, "State:\t%c", &status->state);
        sscanf(line, "PPid:\t%lu", &status->parent);
        /* The effective one: the folder of a process that hides itself belongs to root. */
        sscanf(line, "Uid:\t%*u\t%lu", &status->owner);
        sscanf(line, "VmRSS:\t%lu", &status->resident_kib);
    }
    return true;
}

static bool is_in(const pid_t *list, size_t count, pid_t pid)
{
    for (size_t index = 0; index < count; index++)
        if (list[index] == pid)
            return true;
    return false;
}

void put_processes(struct writer *writer, const pid_t *own, size_t own_count)
{
    uint8_t *head = writer->at;
    uint32_t count = 0;
    put_u8(writer, 0);
    put_u32(writer, 0);
    DIR *listing = opendir("/proc");
    const struct dirent *entry;
    while (listing != NULL && (entry = readdir(listing)) != NULL) {
        pid_t pid = (pid_t)atoi(entry->d_name);
        struct status status;
        if (pid <= 0 || is_in(own, own_count, pid) || !read_status(dirfd(listing), entry->d_name, &status))
            continue;
        if (status.owner != geteuid())
            continue;
        struct writer before = *writer;
        put_u32(writer, (uint32_t)pid);
        put_u32(writer, (uint32_t)status.parent);
        put_u8(writer, (uint8_t)status.state);
        put_u64(writer, status.resident_kib * 1024);
        put_text(writer, status.name);
        if (writer->full) {
            *writer = before;
            head[0] = 1;
            break;
        }
        count++;
    }
    if (listing != NULL)
        closedir(listing);
    struct writer counted = writer_on(head + 1, 4);
    put_u32(&counted, count);
}
