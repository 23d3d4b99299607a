/* Packing a directory: regular files and directories, in a fixed order, each opened from its held parent. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "entry.h"
#include "faults.h"
#include "files.h"
#include "sys.h"
#include "tar-format.h"

enum { MAX_PACK_DEPTH = 64 };

struct packing {
    struct worker *worker;
    size_t filled;
    /* The path of the entry at hand, below the directory that is packed. */
    char path[MAX_PATH_BYTES + 2];
};

static int send_filled(struct packing *packing)
{
    size_t filled = packing->filled;
    packing->filled = 0;
    return filled == 0 ? 0 : tell(packing->worker, BOX_TAR, (struct bytes){packing->worker->buffer, filled});
}

/* Room for more in the frame, at least one byte. */
static int make_room(struct packing *packing)
{
    return packing->filled == MAX_PAYLOAD ? send_filled(packing) : 0;
}

/* @param bytes NULL = zeros */
static int put(struct packing *packing, const void *bytes, size_t length)
{
    const uint8_t *at = bytes;
    while (length > 0) {
        int error = make_room(packing);
        if (error != 0)
            return error;
        size_t room = MAX_PAYLOAD - packing->filled, part = length < room ? length : room;
        if (at == NULL) {
            memset(packing->worker->buffer + packing->filled, 0, part);
        } else {
            memcpy(packing->worker->buffer + packing->filled, at, part);
            at += part;
        }
        packing->filled += part;
        length -= part;
    }
    return 0;
}

static int put_header(struct packing *packing, struct tar_entry *entry)
{
    static char records[MAX_PAX_BYTES];
    uint8_t block[TAR_BLOCK];
    size_t length = tar_write_pax(records, sizeof records, entry);
    int error = 0;
    if (length > 0) {
        struct tar_entry pax = {.name = "pax", .type = TAR_PAX, .mode = 0644, .size = length};
        tar_write_header(block, &pax);
        error = put(packing, block, sizeof block);
        if (error == 0)
            error = put(packing, records, length);
        if (error == 0)
            error = put(packing, NULL, tar_padding(length));
    }
    tar_write_header(block, entry);
    return error != 0 ? error : put(packing, block, sizeof block);
}

static int pack_contents(struct packing *packing, int source, const struct stat *before)
{
    struct stat after;
    uint64_t offset = 0, size = (uint64_t)before->st_size;
    while (offset < size) {
        int error = make_room(packing);
        if (error != 0)
            return error;
        size_t room = MAX_PAYLOAD - packing->filled;
        if (size - offset < room)
            room = (size_t)(size - offset);
        ssize_t got = pread(source, packing->worker->buffer + packing->filled, room, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? errno : FAULT_CHANGED;
        packing->filled += (size_t)got;
        offset += (uint64_t)got;
    }
    if (fstat(source, &after) < 0)
        return errno;
    return is_same_version(before, &after) ? put(packing, NULL, tar_padding(size)) : FAULT_CHANGED;
}

static int pack_file(struct packing *packing, int held, const struct stat *info)
{
    static struct tar_entry entry;
    int source = -1;
    entry = (struct tar_entry){.type = TAR_FILE, .mode = info->st_mode, .size = (uint64_t)info->st_size,
                               .modified = info->st_mtim.tv_sec};
    memcpy(entry.name, packing->path, strlen(packing->path) + 1);
    int error = reopen(held, O_RDONLY, &source);
    if (error == 0)
        error = put_header(packing, &entry);
    if (error == 0)
        error = pack_contents(packing, source, info);
    close_fd(&source);
    return error;
}

static int pack_directory(struct packing *packing, int held, int depth);

static int pack_entry(struct packing *packing, int parent, const char *name, int depth)
{
    struct stat info;
    int held = -1;
    size_t length = strlen(packing->path), name_length = strlen(name);
    if (length + name_length + 2 > MAX_PATH_BYTES)
        return FAULT_BAD_PATH;
    int error = peek(parent, name, &held, &info);
    if (error != 0)
        return error == ENOENT ? 0 : error;
    memcpy(packing->path + length, name, name_length + 1);
    if (info.st_dev != packing->worker->root->device) {
        error = 0;
    } else if (S_ISREG(info.st_mode)) {
        error = pack_file(packing, held, &info);
    } else if (S_ISDIR(info.st_mode)) {
        static struct tar_entry entry;
        memcpy(packing->path + length + name_length, "/", 2);
        entry = (struct tar_entry){.type = TAR_DIRECTORY, .mode = info.st_mode, .modified = info.st_mtim.tv_sec};
        memcpy(entry.name, packing->path, strlen(packing->path) + 1);
        error = put_header(packing, &entry);
        if (error == 0)
            error = depth == MAX_PACK_DEPTH ? FAULT_BAD_PATH : pack_directory(packing, held, depth + 1);
    }
    packing->path[length] = 0;
    close_fd(&held);
    return error;
}

static int pack_directory(struct packing *packing, int held, int depth)
{
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
    while (error == 0 && (entry = readdir(listing)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            error = pack_entry(packing, held, entry->d_name, depth);
    closedir(listing);
    return error;
}

int tar_out(struct worker *worker, struct reader *request)
{
    static struct packing packing;
    char relative[MAX_PATH_BYTES + 1];
    struct path path;
    int held = -1;
    struct bytes given = take_string(request);
    int error = path_parse(&path, given);
    packing.worker = worker;
    if (error == 0) {
        memcpy(relative, given.at, given.length);
        relative[given.length] = 0;
        error = open_directory(worker->root, relative, STRIDE_EXISTING, &held);
    }
    if (error == 0)
        error = pack_directory(&packing, held, 1);
    if (error == 0)
        error = put(&packing, NULL, 2 * TAR_BLOCK);
    if (error == 0)
        error = send_filled(&packing);
    close_fd(&held);
    return error == 0 ? tell_finished(worker, 0) : answer_fault(worker, 0, error, "unreadable");
}
