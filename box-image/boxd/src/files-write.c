/* Writing files: under a hidden name beside the target, then renamed in one step, so that nothing half-written shows. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "entry.h"
#include "faults.h"
#include "files.h"
#include "sys.h"

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

/* Moves the contents of the item to `target`; exactly the announced size, or a fault. */
static int pour(struct worker *worker, struct item *item, int target)
{
    uint64_t left = item->size;
    for (;;) {
        enum content kind;
        size_t length;
        int error = next_content(worker, &kind, &length);
        if (error != 0)
            return error;
        if (kind == CONTENT_END) {
            item->is_read = true;
            return left == 0 ? 0 : FAULT_SIZE;
        }
        if (length > left)
            return FAULT_SIZE;
        error = write_all(target, worker->buffer, length);
        if (error != 0)
            return error;
        left -= length;
    }
}

/* Gives a file its name only where nothing has it. */
static int rename_new(int parent, const char *hidden, const char *name)
{
    if (syscall(SYS_renameat2, parent, hidden, parent, name, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != ENOSYS && errno != EINVAL)
        return errno;
    if (linkat(parent, hidden, parent, name, 0) < 0)
        return errno;
    return unlinkat(parent, hidden, 0) < 0 ? errno : 0;
}

/* Gives a file the name of another one, which must not have changed meanwhile. */
static int rename_over(int parent, const char *hidden, const char *name, const struct stat *before)
{
    struct stat current;
    if (fstatat(parent, name, &current, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? FAULT_CHANGED : errno;
    if (!is_same_version(&current, before))
        return FAULT_CHANGED;
    return renameat(parent, hidden, parent, name) < 0 ? errno : 0;
}

static int give_name(int parent, const char *hidden, const char *name, const struct item *item,
                     const struct stat *before)
{
    if (before != NULL)
        return rename_over(parent, hidden, name, before);
    int error = rename_new(parent, hidden, name);
    /* Where something new was wanted it `exists`; where nothing stood when we looked, somebody came between. */
    return error == EEXIST && item->mode != WRITE_CREATE ? FAULT_CHANGED : error;
}

/* @param before the file that stands there, or NULL */
static int replace(struct worker *worker, int parent, const char *name, struct item *item,
                   const struct stat *before, struct stat *result)
{
    char hidden[64];
    if (item->version.length > 0 && (before == NULL || !has_version(before, item->version)))
        return FAULT_CHANGED;
    int error = hidden_name(hidden, sizeof hidden, ".tmp");
    if (error != 0)
        return error;
    int target = openat(parent, hidden, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC, 0600);
    if (target < 0)
        return errno;
    error = item->fill(worker, item, target);
    mode_t mode = before == NULL ? item->file_mode : before->st_mode & 07777;
    if (error == 0 && fchmod(target, mode) < 0)
        error = errno;
    if (error == 0)
        error = give_name(parent, hidden, name, item, before);
    if (error != 0)
        unlinkat(parent, hidden, 0);
    else if (fstat(target, result) < 0)
        error = errno;
    close_fd(&target);
    return error;
}

/* What cannot be appended whole is taken back. */
static int append(struct worker *worker, struct item *item, int existing, struct stat *result)
{
    struct stat before;
    int target = -1;
    int error = reopen(existing, O_WRONLY | O_APPEND, &target);
    if (error != 0)
        return error;
    if (fstat(target, &before) < 0)
        error = errno;
    if (error == 0) {
        error = item->fill(worker, item, target);
        if (error != 0 && ftruncate(target, before.st_size) < 0)
            error = errno;
    }
    if (error == 0 && fstat(target, result) < 0)
        error = errno;
    close_fd(&target);
    return error;
}

/* Holds the file that stands there; -1 where there is none. */
static int hold_existing(const struct worker *worker, int parent, const char *name, const struct item *item,
                         int *existing, struct stat *before)
{
    int error = peek(parent, name, existing, before);
    if (error == ENOENT) {
        *existing = -1;
        return 0;
    }
    if (error != 0)
        return error;
    if (item->mode == WRITE_CREATE)
        error = EEXIST;
    else if (!S_ISREG(before->st_mode))
        error = FAULT_NOT_REGULAR;
    else if (before->st_dev != worker->root->device)
        error = FAULT_ESCAPES;
    if (error != 0)
        close_fd(existing);
    return error;
}

int place_file(struct worker *worker, struct bytes given, struct item *item, struct stat *result)
{
    struct path path;
    struct stat before;
    int parent = -1, existing = -1;
    int error = path_parse(&path, given);
    if (error != 0)
        return error;
    if (*path.name == 0)
        return FAULT_NOT_REGULAR;
    error = open_directory(worker->root, path.parent, STRIDE_MAKE, &parent);
    if (error != 0)
        return error;
    error = hold_existing(worker, parent, path.name, item, &existing, &before);
    if (error == 0 && item->mode == WRITE_APPEND && existing >= 0)
        error = append(worker, item, existing, result);
    else if (error == 0)
        error = replace(worker, parent, path.name, item, existing < 0 ? NULL : &before, result);
    close_fd(&existing);
    close_fd(&parent);
    return error;
}

int write_files(struct worker *worker, struct reader *request)
{
    umask(022);
    uint32_t count = take_u32(request);
    for (uint32_t index = 0; index < count; index++) {
        struct stat result;
        struct bytes path = take_string(request);
        struct item item = {.mode = take_u8(request), .size = take_u64(request), .fill = pour};
        item.version = take_string(request);
        item.file_mode = take_u16(request) & 0777;
        int error = item.mode > WRITE_APPEND ? EINVAL : place_file(worker, path, &item, &result);
        /* The host sends the item to its end, whatever became of it. */
        if (error != FAULT_CANCELLED && !item.is_read) {
            int cut = skip_content(worker);
            error = cut != 0 ? cut : error;
        }
        error = error == 0 ? tell_entry(worker, index, &result) : answer_fault(worker, index, error, "denied");
        if (error != 0)
            return error;
    }
    return 0;
}

/* from, to, and whether what has the new name may be replaced */
int rename_one(struct worker *worker, struct reader *request)
{
    struct path from, to;
    int source = -1, target = -1;
    struct stat info;
    int error = path_parse(&from, take_string(request));
    if (error == 0)
        error = path_parse(&to, take_string(request));
    bool may_replace = take_u8(request) != 0;
    if (error == 0 && (*from.name == 0 || *to.name == 0))
        error = EPERM;
    if (error == 0)
        error = open_directory(worker->root, from.parent, STRIDE_EXISTING, &source);
    if (error == 0)
        error = open_directory(worker->root, to.parent, STRIDE_MAKE, &target);
    if (error == 0 && syscall(SYS_renameat2, source, from.name, target, to.name,
                              may_replace ? 0 : RENAME_NOREPLACE) < 0)
        error = errno;
    if (error == 0 && fstatat(target, to.name, &info, AT_SYMLINK_NOFOLLOW) < 0)
        error = errno;
    close_fd(&source);
    close_fd(&target);
    return error == 0 ? tell_entry(worker, 0, &info) : answer_fault(worker, 0, error, "denied");
}
