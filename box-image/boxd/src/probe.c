/* `boxd probe`: what really holds for a process of a box, found by trying and by reading. Told to the host as one line of
   JSON; names that come from the machine are cut down to plain characters. */
#define _GNU_SOURCE
#include "probe.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "probe-tries.h"
#include "protocol.h"
#include "sys.h"

#define CGROUP "/sys/fs/cgroup/"
#define COUNT(list) (sizeof(list) / sizeof *(list))
enum { MOST_NAMES = 64, MOST_NAME_BYTES = 64 };

static void put_name(FILE *out, const char *name)
{
    fputc('"', out);
    for (int index = 0; name[index] != 0 && index < MOST_NAME_BYTES; index++) {
        bool is_plain = name[index] >= ' ' && name[index] <= '~' && name[index] != '"' && name[index] != '\\';
        fputc(is_plain ? name[index] : '?', out);
    }
    fputc('"', out);
}

/* A number behind a word of /proc/<pid>/status; base 16 for sets of capabilities. -1 = unknown. */
static int64_t status_field(const char *pid, const char *word, int base)
{
    char path[64], text[4096];
    size_t length = strlen(word);
    snprintf(path, sizeof path, "/proc/%s/status", pid);
    if (read_small_file(AT_FDCWD, path, text, sizeof text) < 0)
        return -1;
    for (char *line = text, *end; line != NULL && *line != 0; line = end == NULL ? NULL : end + 1) {
        end = strchr(line, '\n');
        if (strncmp(line, word, length) == 0 && line[length] == ':')
            return strtoll(line + length + 1, NULL, base);
    }
    return -1;
}

/* A limit: -1 = there is no such file, INT64_MAX = no limit. */
static int64_t read_limit(const char *path)
{
    char text[128];
    if (read_small_file(AT_FDCWD, path, text, sizeof text) < 0)
        return -1;
    return strncmp(text, "max", 3) == 0 ? INT64_MAX : strtoll(text, NULL, 10);
}

static int64_t either(const char *old, const char *unified)
{
    int64_t found = read_limit(old);
    return found >= 0 ? found : read_limit(unified);
}

/* Seen from the host's namespace, the paths of the hierarchies lead somewhere. */
static bool has_own_cgroups(void)
{
    char text[4096];
    if (read_small_file(AT_FDCWD, "/proc/self/cgroup", text, sizeof text) < 0)
        return false;
    for (char *line = text, *end; line != NULL && *line != 0; line = end == NULL ? NULL : end + 1) {
        end = strchr(line, '\n');
        if (end != NULL)
            *end = 0;
        const char *path = strrchr(line, ':');
        if (path == NULL || strcmp(path, ":/") != 0)
            return false;
    }
    return true;
}

static void put_cgroup(FILE *out)
{
    int64_t memory = either(CGROUP "memory/memory.limit_in_bytes", CGROUP "memory.max");
    int64_t both = read_limit(CGROUP "memory/memory.memsw.limit_in_bytes"), swap = read_limit(CGROUP "memory.swap.max");
    int64_t period = read_limit(CGROUP "cpu/cpu.cfs_period_us");
    char text[128];
    if (both < 0 && swap >= 0 && memory >= 0)
        both = swap > INT64_MAX - memory ? INT64_MAX : memory + swap;
    if (read_small_file(AT_FDCWD, CGROUP "cpu.max", text, sizeof text) >= 0 && strchr(text, ' ') != NULL)
        period = strtoll(strchr(text, ' ') + 1, NULL, 10);
    fprintf(out, "\"cgroup\":{\"private\":%s,\"memory\":%" PRId64 ",\"memory_and_swap\":%" PRId64,
            has_own_cgroups() ? "true" : "false", memory, both);
    fprintf(out, ",\"pids\":%" PRId64 ",\"cpu_quota\":%" PRId64 ",\"cpu_period\":%" PRId64 "},",
            either(CGROUP "pids/pids.max", CGROUP "pids.max"), either(CGROUP "cpu/cpu.cfs_quota_us", CGROUP "cpu.max"), period);
}

static void put_interfaces(FILE *out)
{
    char text[8192], name[32];
    int count = 0;
    fputs("\"interfaces\":[", out);
    bool is_known = read_small_file(AT_FDCWD, "/proc/net/dev", text, sizeof text) >= 0;
    if (!is_known)
        fputs("\"unknown\"", out);
    for (char *line = is_known ? text : NULL, *end; line != NULL && count < MOST_NAMES; line = end == NULL ? NULL : end + 1) {
        end = strchr(line, '\n');
        if (end != NULL)
            *end = 0;
        if (strchr(line, '|') != NULL || sscanf(line, " %31[^: ]:", name) != 1)
            continue;
        fputs(count++ == 0 ? "" : ",", out);
        put_name(out, name);
    }
    fputs("],", out);
}

static bool is_usual_device(const char *name)
{
    static const char *const usual[] = {".", "..", "console", "core", "fd", "full", "mqueue", "null", "ptmx", "pts", "random",
        "shm", "stderr", "stdin", "stdout", "tty", "urandom", "zero"};
    for (size_t index = 0; index < COUNT(usual); index++)
        if (strcmp(name, usual[index]) == 0)
            return true;
    return false;
}

static void put_devices(FILE *out)
{
    DIR *listing = opendir("/dev");
    const struct dirent *entry;
    int count = 0;
    fputs("\"devices\":[", out);
    while (listing != NULL && count < MOST_NAMES && (entry = readdir(listing)) != NULL)
        if (!is_usual_device(entry->d_name)) {
            fputs(count++ == 0 ? "" : ",", out);
            put_name(out, entry->d_name);
        }
    if (listing != NULL)
        closedir(listing);
    fputs("],", out);
}

static void put_sockets(FILE *out)
{
    static const char *const places[] = {"/run/docker.sock", "/var/run/docker.sock", "/run/containerd/containerd.sock",
        "/run/podman/podman.sock", "/run/crio/crio.sock"};
    int count = 0;
    fputs("\"engine_sockets\":[", out);
    for (size_t index = 0; index < COUNT(places); index++)
        if (access(places[index], F_OK) == 0) {
            fputs(count++ == 0 ? "" : ",", out);
            put_name(out, places[index]);
        }
    fputs("],", out);
}

static void put_environment(FILE *out)
{
    extern char **environ;
    fputs("\"env\":[", out);
    for (int index = 0; environ[index] != NULL && index < MOST_NAMES; index++) {
        char name[MOST_NAME_BYTES + 1];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(environ[index], "="), environ[index]);
        fputs(index == 0 ? "" : ",", out);
        put_name(out, name);
    }
    fputs("]", out);
}

static bool is_read_only(const char *path, struct statvfs *space)
{
    memset(space, 0, sizeof *space);
    return statvfs(path, space) == 0 && (space->f_flag & ST_RDONLY) != 0;
}

static void put_space(FILE *out)
{
    struct statvfs space;
    struct stat root, workspace;
    bool is_apart = stat("/", &root) == 0 && stat("/workspace", &workspace) == 0 && root.st_dev != workspace.st_dev;
    fprintf(out, "\"root_read_only\":%s,", is_read_only("/", &space) ? "true" : "false");
    fprintf(out, "\"kernel_settings_read_only\":%s,", is_read_only("/proc/sys", &space) ? "true" : "false");
    is_read_only("/dev/shm", &space);
    fprintf(out, "\"shared_memory\":%" PRIu64 ",", (uint64_t)space.f_blocks * space.f_frsize);
    fprintf(out, "\"workspace\":{\"apart\":%s,\"read_only\":%s,", is_apart ? "true" : "false",
            is_read_only("/workspace", &space) ? "true" : "false");
    fprintf(out, "\"bytes\":%" PRIu64 ",\"entries\":%" PRIu64 "},", (uint64_t)space.f_blocks * space.f_frsize,
            (uint64_t)space.f_files);
}

static int64_t hard_limit(int resource)
{
    struct rlimit limit;
    if (getrlimit((unsigned)resource, &limit) < 0)
        return -1;
    return limit.rlim_max == RLIM_INFINITY ? INT64_MAX : (int64_t)limit.rlim_max;
}

static void put_process(FILE *out)
{
    static const char *const sets[] = {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"};
    uint64_t capabilities = 0;
    char label[128];
    for (size_t index = 0; index < COUNT(sets); index++)
        capabilities |= (uint64_t)status_field("self", sets[index], 16);
    fprintf(out, "\"first_uid\":%" PRId64 ",\"uid\":%u,\"gid\":%u,\"capabilities\":\"%" PRIx64 "\",",
            status_field("1", "Uid", 10), (unsigned)geteuid(), (unsigned)getegid(), capabilities);
    fprintf(out, "\"no_new_privileges\":%" PRId64 ",\"seccomp\":%" PRId64 ",", status_field("self", "NoNewPrivs", 10),
            status_field("self", "Seccomp", 10));
    fprintf(out, "\"limits\":{\"file_bytes\":%" PRId64 ",\"open_files\":%" PRId64 ",\"core_bytes\":%" PRId64 "},",
            hard_limit(RLIMIT_FSIZE), hard_limit(RLIMIT_NOFILE), hard_limit(RLIMIT_CORE));
    if (read_small_file(AT_FDCWD, "/proc/self/attr/current", label, sizeof label) < 0)
        label[0] = 0;
    label[strcspn(label, "\n")] = 0;
    fputs("\"security_label\":", out);
    put_name(out, label);
    fputs(",", out);
}

int probe(void)
{
    fputs("{\"probe\":1,", stdout);
    put_process(stdout);
    put_tries(stdout);
    put_space(stdout);
    put_cgroup(stdout);
    put_interfaces(stdout);
    put_devices(stdout);
    put_sockets(stdout);
    put_environment(stdout);
    fputs("}\n", stdout);
    return fflush(stdout) == 0 ? END_CLEAN : END_UNABLE;
}
