/* Looking at files and reading them. What is read is the very entry that was looked at. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

#include "entry.h"
#include "faults.h"
#include "files.h"
#include "sys.h"

int answer_fault(struct worker *worker, uint32_t index, int error, const char *otherwise)
{
    if (error == FAULT_CANCELLED)
        return error;
    return tell_fault(worker, index, fault_word(error, otherwise));
}

/* Holds the entry at a path, whatever it is. */
static int look(const struct root *root, struct bytes given, int *held, struct stat *info)
{
    struct path path;
    int parent = -1;
    int error = path_parse(&path, given);
    if (error != 0)
        return error;
    error = open_directory(root, path.parent, STRIDE_EXISTING, &parent);
    if (error != 0)
        return error;
    error = peek(parent, *path.name == 0 ? "." : path.name, held, info);
    close_fd(&parent);
    return error;
}

int stat_all(struct worker *worker, struct reader *request)
{
    uint32_t count = take_u32(request);
    for (uint32_t index = 0; index < count; index++) {
        struct stat info;
        int held = -1;
        int error = look(worker->root, take_string(request), &held, &info);
        close_fd(&held);
        error = error == 0 ? tell_entry(worker, index, &info) : answer_fault(worker, index, error, "unreadable");
        if (error != 0)
            return error;
    }
    return 0;
}

struct wanted {
    uint32_t index;
    uint64_t offset, length;
    struct bytes version;
};

static int stream(struct worker *worker, const struct wanted *wanted, int source, uint64_t size)
{
    uint64_t offset = wanted->offset;
    uint64_t left = offset < size ? size - offset : 0;
    if (wanted->length < left)
        left = wanted->length;
    struct writer head = writer_on(worker->buffer, 4);
    put_u32(&head, wanted->index);
    while (left > 0) {
        size_t room = left < MAX_PAYLOAD - 4 ? (size_t)left : MAX_PAYLOAD - 4;
        ssize_t got = pread(source, worker->buffer + 4, room, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return errno;
        if (got == 0)
            return FAULT_CHANGED;
        int error = tell(worker, BOX_BYTES, (struct bytes){worker->buffer, (size_t)got + 4});
        if (error != 0)
            return error;
        offset += (uint64_t)got;
        left -= (uint64_t)got;
    }
    return 0;
}

/*
 * A write sets the time when it begins and its bytes come later: a reader in between gets parts of both under one version.
 * Looking for data waits for the file's own lock, and so for every write that began before; what begins later changes the
 * version. (Where it takes no such lock, as in xfs, no read sees half of a write.)
 */
static void await_writes(int source)
{
    lseek(source, 0, SEEK_DATA);
}

static int read_held(struct worker *worker, const struct wanted *wanted, int held, const struct stat *before)
{
    struct stat after;
    int source = -1;
    if (!S_ISREG(before->st_mode))
        return FAULT_NOT_REGULAR;
    if (before->st_dev != worker->root->device)
        return FAULT_ESCAPES;
    if (!has_version(before, wanted->version))
        return FAULT_CHANGED;
    int error = reopen(held, O_RDONLY, &source);
    if (error == 0)
        error = tell_entry(worker, wanted->index, before);
    if (error == 0)
        await_writes(source);
    if (error == 0)
        error = stream(worker, wanted, source, (uint64_t)before->st_size);
    if (error == 0 && fstat(source, &after) < 0)
        error = errno;
    if (error == 0 && !is_same_version(before, &after))
        error = FAULT_CHANGED;
    close_fd(&source);
    return error == 0 ? tell_finished(worker, wanted->index) : error;
}

int read_all(struct worker *worker, struct reader *request)
{
    uint32_t count = take_u32(request);
    for (uint32_t index = 0; index < count; index++) {
        struct stat info;
        int held = -1;
        struct bytes path = take_string(request);
        struct wanted wanted = {.index = index, .offset = take_u64(request), .length = take_u64(request)};
        wanted.version = take_string(request);
        int error = look(worker->root, path, &held, &info);
        if (error == 0)
            error = read_held(worker, &wanted, held, &info);
        close_fd(&held);
        if (error != 0)
            error = answer_fault(worker, index, error, "unreadable");
        if (error != 0)
            return error;
    }
    return 0;
}
