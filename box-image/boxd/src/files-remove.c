/* Removing entries and making directories, by descriptor and never through a link. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "entry.h"
#include "faults.h"
#include "files.h"
#include "sys.h"

enum { MAX_REMOVED = 2000000, MAX_DEPTH = 64, STEPS_BETWEEN_CHECKS = 512 };

struct removal {
    const struct worker *worker;
    /* The directory that is being emptied; what lies too deep is moved up to it and met there later. */
    int top;
    uint32_t steps;
};

static int count_step(struct removal *removal)
{
    if (++removal->steps > MAX_REMOVED)
        return EPERM;
    return removal->steps % STEPS_BETWEEN_CHECKS == 0 ? check_wanted(removal->worker) : 0;
}

static int empty_directory(struct removal *removal, int held, int depth);

/* One that was gone before us is as good as removed. */
static int forgive_missing(int result)
{
    return result < 0 && errno != ENOENT ? errno : 0;
}

static int remove_below(struct removal *removal, int parent, const char *name, int depth)
{
    int held = -1;
    int error = count_step(removal);
    if (error != 0)
        return error;
    struct stat info;
    if (fstatat(parent, name, &info, AT_SYMLINK_NOFOLLOW) < 0)
        return forgive_missing(-1);
    if (!S_ISDIR(info.st_mode))
        return forgive_missing(unlinkat(parent, name, 0));
    if (depth == MAX_DEPTH) {
        char moved[64];
        error = hidden_name(moved, sizeof moved, "");
        return error != 0 ? error : forgive_missing(renameat(parent, name, removal->top, moved));
    }
    error = step(removal->worker->root, parent, name, &held);
    if (error == ENOENT)
        return 0;
    /* It was a directory and is none: whoever changed it is met on the next look. */
    if (error == ELOOP || error == ENOTDIR)
        return 0;
    if (error != 0)
        return error;
    error = empty_directory(removal, held, depth + 1);
    close_fd(&held);
    return error != 0 ? error : forgive_missing(unlinkat(parent, name, AT_REMOVEDIR));
}

static bool is_dots(const char *name) { return strcmp(name, ".") == 0 || strcmp(name, "..") == 0; }

/* One look at all entries. @param found whether there were any */
static int remove_seen(struct removal *removal, int held, int depth, bool *found)
{
    *found = false;
    int opened = openat(held, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (opened < 0)
        return errno;
    DIR *listing = fdopendir(opened);
    if (listing == NULL) {
        close(opened);
        return ENOMEM;
    }
    int error = 0;
    const struct dirent *entry;
    while (error == 0 && (entry = readdir(listing)) != NULL) {
        if (is_dots(entry->d_name))
            continue;
        *found = true;
        error = remove_below(removal, held, entry->d_name, depth);
    }
    closedir(listing);
    return error;
}

static int empty_directory(struct removal *removal, int held, int depth)
{
    regain(held);
    bool found = true;
    int error = 0;
    while (found && error == 0)
        error = remove_seen(removal, held, depth, &found);
    return error;
}

int remove_entry(const struct worker *worker, int parent, const char *name, bool is_recursive,
                 struct bytes version)
{
    struct stat info, current;
    int held = -1;
    int error = peek(parent, name, &held, &info);
    if (error != 0)
        return error;
    bool is_directory = S_ISDIR(info.st_mode);
    if (!has_version(&info, version))
        error = FAULT_CHANGED;
    else if (is_directory && !is_recursive)
        error = FAULT_NOT_REGULAR;
    else if (is_directory && info.st_dev != worker->root->device)
        error = FAULT_ESCAPES;
    else if (is_directory) {
        struct removal removal = {.worker = worker, .top = held};
        error = empty_directory(&removal, held, 0);
    }
    if (error == 0 && fstatat(parent, name, &current, AT_SYMLINK_NOFOLLOW) < 0)
        error = errno;
    if (error == 0 && (current.st_dev != info.st_dev || current.st_ino != info.st_ino))
        error = FAULT_CHANGED;
    if (error == 0 && unlinkat(parent, name, is_directory ? AT_REMOVEDIR : 0) < 0)
        error = errno;
    close_fd(&held);
    return error;
}

/* The parent of a path, held; the workspace itself is never an item. */
static int open_parent(const struct worker *worker, struct bytes given, enum stride stride, struct path *path,
                       int *parent)
{
    int error = path_parse(path, given);
    if (error != 0)
        return error;
    if (*path->name == 0)
        return EPERM;
    return open_directory(worker->root, path->parent, stride, parent);
}

int remove_all(struct worker *worker, struct reader *request)
{
    uint32_t count = take_u32(request);
    for (uint32_t index = 0; index < count; index++) {
        struct path path;
        int parent = -1;
        struct bytes given = take_string(request), version = take_string(request);
        bool is_recursive = take_u8(request) != 0;
        int error = open_parent(worker, given, STRIDE_EXISTING, &path, &parent);
        if (error == 0)
            error = remove_entry(worker, parent, path.name, is_recursive, version);
        close_fd(&parent);
        error = error == 0 ? tell_finished(worker, index) : answer_fault(worker, index, error, "denied");
        if (error != 0)
            return error;
    }
    return 0;
}

int reset_all(struct worker *worker, struct reader *request)
{
    umask(022);
    uint32_t count = take_u32(request);
    for (uint32_t index = 0; index < count; index++) {
        struct path path;
        int parent = -1;
        int error = open_parent(worker, take_string(request), STRIDE_CLEAR, &path, &parent);
        if (error == 0) {
            error = remove_entry(worker, parent, path.name, true, (struct bytes){.length = 0});
            if (error == ENOENT)
                error = 0;
        }
        if (error == 0 && mkdirat(parent, path.name, 0755) < 0)
            error = errno;
        close_fd(&parent);
        error = error == 0 ? tell_finished(worker, index) : answer_fault(worker, index, error, "denied");
        if (error != 0)
            return error;
    }
    return 0;
}

int make_all(struct worker *worker, struct reader *request)
{
    umask(022);
    uint32_t count = take_u32(request);
    for (uint32_t index = 0; index < count; index++) {
        struct path path;
        struct stat info;
        int parent = -1, held = -1;
        int error = open_parent(worker, take_string(request), STRIDE_MAKE, &path, &parent);
        if (error == 0 && mkdirat(parent, path.name, 0755) < 0 && errno != EEXIST)
            error = errno;
        if (error == 0)
            error = step(worker->root, parent, path.name, &held);
        if (error == 0 && fstat(held, &info) < 0)
            error = errno;
        close_fd(&held);
        close_fd(&parent);
        error = error == 0 ? tell_entry(worker, index, &info) : answer_fault(worker, index, error, "denied");
        if (error != 0)
            return error;
    }
    return 0;
}
