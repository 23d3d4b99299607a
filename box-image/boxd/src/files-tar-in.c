/* Unpacking a stream of the host into a directory. Every name is a path as in any request; nothing but files and directories. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "faults.h"
#include "files.h"
#include "sys.h"
#include "tar-format.h"

enum { MAX_TAR_ENTRIES = 100000 };

struct unpacking {
    struct worker *worker;
    const char *base;
    /* What the stream may still bring. */
    uint64_t room;
    uint32_t entries;
    /* Bytes that came and are not used yet, in the worker's buffer. */
    const uint8_t *at;
    size_t left;
    bool is_over;
};

/* Makes sure that there are bytes. A stream that ends here was cut. */
static int pull(struct unpacking *unpacking)
{
    while (unpacking->left == 0) {
        enum content kind;
        if (unpacking->is_over)
            return FAULT_BAD_ARCHIVE;
        int error = next_content(unpacking->worker, &kind, &unpacking->left);
        if (error != 0)
            return error;
        unpacking->at = unpacking->worker->buffer;
        unpacking->is_over = kind == CONTENT_END;
    }
    return 0;
}

/* Gives bytes of the stream to memory, to a file, or to nobody. */
static int take(struct unpacking *unpacking, uint64_t length, uint8_t *memory, int target)
{
    while (length > 0) {
        int error = pull(unpacking);
        if (error != 0)
            return error;
        size_t part = unpacking->left < length ? unpacking->left : (size_t)length;
        if (memory != NULL) {
            memcpy(memory, unpacking->at, part);
            memory += part;
        } else if (target >= 0) {
            error = write_all(target, unpacking->at, part);
        }
        if (error != 0)
            return error;
        unpacking->at += part;
        unpacking->left -= part;
        length -= part;
    }
    return 0;
}

static int fill_from_stream(struct worker *worker, struct item *item, int target)
{
    (void)worker;
    return take(item->context, item->size, NULL, target);
}

/* The base and the name of the entry, as one path of the workspace. @returns 0, or ENOENT for the base itself */
static int resolve(const struct unpacking *unpacking, const char *name, char *whole)
{
    while (strncmp(name, "./", 2) == 0)
        name += 2;
    size_t base = strlen(unpacking->base), length = strlen(name);
    if (length > 0 && name[length - 1] == '/')
        length--;
    if (length == 0 || (length == 1 && name[0] == '.'))
        return ENOENT;
    if (base + length + 2 > MAX_PATH_BYTES)
        return FAULT_BAD_ARCHIVE;
    memcpy(whole, unpacking->base, base);
    if (base > 0)
        whole[base++] = '/';
    memcpy(whole + base, name, length);
    whole[base + length] = 0;
    struct path path;
    return path_parse(&path, (struct bytes){(const uint8_t *)whole, base + length}) == 0 ? 0 : FAULT_BAD_ARCHIVE;
}

static int unpack_entry(struct unpacking *unpacking, const struct tar_entry *entry)
{
    char whole[MAX_PATH_BYTES + 1];
    bool is_directory = entry->type == TAR_DIRECTORY;
    if (++unpacking->entries > MAX_TAR_ENTRIES || entry->size > unpacking->room)
        return FAULT_TOO_LARGE;
    if (is_directory && entry->size != 0)
        return FAULT_BAD_ARCHIVE;
    unpacking->room -= entry->size;
    int error = resolve(unpacking, entry->name, whole);
    if (error == ENOENT && is_directory)
        return 0;
    if (error != 0)
        return FAULT_BAD_ARCHIVE;
    if (is_directory) {
        int held = -1;
        error = open_directory(unpacking->worker->root, whole, STRIDE_MAKE, &held);
        close_fd(&held);
        return error;
    }
    struct stat result;
    struct item item = {.mode = WRITE_OVERWRITE, .size = entry->size, .file_mode = entry->mode,
                        .fill = fill_from_stream, .context = unpacking};
    error = place_file(unpacking->worker, (struct bytes){(const uint8_t *)whole, strlen(whole)}, &item, &result);
    return error != 0 ? error : take(unpacking, tar_padding(entry->size), NULL, -1);
}

/* Records for the entry that follows. */
static int take_pax(struct unpacking *unpacking, uint64_t size, struct tar_entry *next, bool *has_name, bool *has_size)
{
    static uint8_t records[MAX_PAX_BYTES];
    if (size > sizeof records)
        return FAULT_BAD_ARCHIVE;
    int error = take(unpacking, size, records, -1);
    if (error == 0)
        error = take(unpacking, tar_padding(size), NULL, -1);
    return error != 0 ? error : tar_read_pax((const char *)records, (size_t)size, next, has_name, has_size);
}

static int unpack(struct unpacking *unpacking)
{
    static struct tar_entry entry, pax;
    bool has_name = false, has_size = false;
    for (;;) {
        uint8_t block[TAR_BLOCK];
        int error = take(unpacking, sizeof block, block, -1);
        if (error != 0)
            return error;
        if (tar_is_end(block))
            return has_name || has_size ? FAULT_BAD_ARCHIVE : 0;
        error = tar_read_header(block, &entry);
        if (error == 0 && entry.type == TAR_PAX) {
            error = take_pax(unpacking, entry.size, &pax, &has_name, &has_size);
        } else if (error == 0 && entry.type == TAR_PAX_GLOBAL) {
            error = entry.size > MAX_PAX_BYTES ? FAULT_BAD_ARCHIVE
                                               : take(unpacking, entry.size + tar_padding(entry.size), NULL, -1);
        } else if (error == 0 && (entry.type == TAR_FILE || entry.type == TAR_OLD_FILE || entry.type == TAR_DIRECTORY)) {
            if (has_name)
                memcpy(entry.name, pax.name, sizeof entry.name);
            if (has_size)
                entry.size = pax.size;
            has_name = has_size = false;
            error = unpack_entry(unpacking, &entry);
        } else if (error == 0) {
            error = FAULT_BAD_ARCHIVE;
        }
        if (error != 0)
            return error;
    }
}

int tar_in(struct worker *worker, struct reader *request)
{
    char base[MAX_PATH_BYTES + 1];
    struct path path;
    int held = -1;
    umask(022);
    struct bytes given = take_string(request);
    struct unpacking unpacking = {.worker = worker, .base = base, .room = take_u64(request)};
    int error = path_parse(&path, given);
    if (error == 0) {
        memcpy(base, given.at, given.length);
        base[given.length] = 0;
        error = open_directory(worker->root, base, STRIDE_MAKE, &held);
        close_fd(&held);
    }
    if (error == 0)
        error = unpack(&unpacking);
    /* The host sends to its END, whatever became of it. */
    if (error != FAULT_CANCELLED && !unpacking.is_over) {
        int cut = skip_content(worker);
        error = cut != 0 ? cut : error;
    }
    return error == 0 ? tell_finished(worker, 0) : answer_fault(worker, 0, error, "denied");
}
