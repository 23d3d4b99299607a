/*
 * Listing a tree, level by level, so that a cut walk has seen the upper levels; names of a directory in order. Every
 * directory is reached anew from the workspace. Memory is fixed: what does not fit is left out and said.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "entry.h"
#include "faults.h"
#include "files.h"
#include "sys.h"

enum { MAX_LIST_DEPTH = 256, WAITING_BYTES = 4 << 20, NAMES_BYTES = 4 << 20, MAX_NAMES = 131072 };

struct listing {
    struct worker *worker;
    const char *base;
    uint32_t depth, room;
    /* u32 count and strings, as in the request. */
    struct bytes skipped;
    bool is_truncated;
    /* Paths below `base` still to be visited: u16 length, u16 depth, bytes. Only ever appended to and read onwards. */
    uint8_t *waiting;
    size_t waiting_end;
    /* Names of the directory at hand, one after the other, and where each begins. */
    char *names;
    const char **index;
    /* The frame that is being filled. */
    struct writer batch;
    uint32_t batch_count;
};

static void *reserve(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void begin_batch(struct listing *listing)
{
    listing->batch = writer_on(listing->worker->buffer, MAX_PAYLOAD);
    put_u32(&listing->batch, 0);
    listing->batch_count = 0;
}

static int send_batch(struct listing *listing)
{
    if (listing->batch_count == 0)
        return 0;
    struct writer head = writer_on(listing->worker->buffer, 4);
    put_u32(&head, listing->batch_count);
    struct bytes payload = {listing->worker->buffer, MAX_PAYLOAD - listing->batch.left};
    int error = tell(listing->worker, BOX_ENTRIES, payload);
    begin_batch(listing);
    return error;
}

static int put_listed(struct listing *listing, const char *path, const struct stat *info)
{
    size_t length = strlen(path);
    if (listing->batch.left < length + 4 + MAX_ENTRY_BYTES) {
        int error = send_batch(listing);
        if (error != 0)
            return error;
    }
    put_string(&listing->batch, path, length);
    put_entry(&listing->batch, info);
    listing->batch_count++;
    return 0;
}

static bool is_skipped(const struct listing *listing, const char *name)
{
    struct reader reader = reader_of(listing->skipped);
    size_t length = strlen(name);
    for (uint32_t count = take_u32(&reader); count > 0; count--) {
        struct bytes skipped = take_string(&reader);
        if (skipped.length == length && memcmp(skipped.at, name, length) == 0)
            return true;
    }
    return false;
}

static void enqueue(struct listing *listing, const char *path, uint32_t depth)
{
    size_t length = strlen(path);
    if (depth >= MAX_LIST_DEPTH || listing->waiting_end + 4 + length + 1 > WAITING_BYTES) {
        listing->is_truncated = true;
        return;
    }
    struct writer writer = writer_on(listing->waiting + listing->waiting_end, 4);
    put_u16(&writer, (uint16_t)length);
    put_u16(&writer, (uint16_t)depth);
    memcpy(listing->waiting + listing->waiting_end + 4, path, length + 1);
    listing->waiting_end += 4 + length + 1;
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Takes the names of a directory. @returns how many */
static size_t take_names(struct listing *listing, DIR *directory)
{
    size_t count = 0, filled = 0;
    const struct dirent *entry;
    while ((entry = readdir(directory)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        size_t length = strlen(entry->d_name) + 1;
        /* Somewhat more than there is room for, so that the first ones in order are found in usual directories. */
        if (count == MAX_NAMES || filled + length > NAMES_BYTES || count > listing->room + 10000u) {
            listing->is_truncated = true;
            break;
        }
        memcpy(listing->names + filled, entry->d_name, length);
        listing->index[count++] = listing->names + filled;
        filled += length;
    }
    qsort(listing->index, count, sizeof listing->index[0], compare_names);
    return count;
}

/* @param place the directory below the base, "" for the base itself */
static int list_names(struct listing *listing, DIR *directory, const char *place, uint32_t depth)
{
    size_t count = take_names(listing, directory);
    for (size_t index = 0; index < count; index++) {
        const char *name = listing->index[index];
        char path[MAX_PATH_BYTES + MAX_NAME_BYTES + 2];
        struct stat info;
        if (fstatat(dirfd(directory), name, &info, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        bool is_directory = S_ISDIR(info.st_mode);
        if (is_directory && is_skipped(listing, name))
            continue;
        size_t place_length = strlen(place), name_length = strlen(name);
        if (listing->room == 0 || strlen(listing->base) + place_length + name_length + 2 > MAX_PATH_BYTES) {
            listing->is_truncated = true;
            if (listing->room == 0)
                return 0;
            continue;
        }
        listing->room--;
        memcpy(path, place, place_length);
        if (place_length > 0)
            path[place_length++] = '/';
        memcpy(path + place_length, name, name_length + 1);
        int error = put_listed(listing, path, &info);
        if (error != 0)
            return error;
        if (is_directory && info.st_dev == listing->worker->root->device && depth < listing->depth)
            enqueue(listing, path, depth);
    }
    return 0;
}

static int list_directory(struct listing *listing, const char *place, uint32_t depth)
{
    char whole[MAX_PATH_BYTES + 1];
    int held = -1;
    size_t base_length = strlen(listing->base), place_length = strlen(place);
    if (base_length + place_length + 2 > sizeof whole)
        return ENAMETOOLONG;
    memcpy(whole, listing->base, base_length);
    if (base_length > 0 && place_length > 0)
        whole[base_length++] = '/';
    memcpy(whole + base_length, place, place_length + 1);
    int error = open_directory(listing->worker->root, whole, STRIDE_EXISTING, &held);
    if (error != 0)
        return error;
    int opened = openat(held, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    error = opened < 0 ? errno : 0;
    close_fd(&held);
    if (error != 0)
        return error;
    DIR *directory = fdopendir(opened);
    if (directory == NULL) {
        close(opened);
        return ENOMEM;
    }
    error = list_names(listing, directory, place, depth);
    closedir(directory);
    return error;
}

static int visit_waiting(struct listing *listing)
{
    for (size_t next = 0; next < listing->waiting_end;) {
        struct reader reader = reader_of((struct bytes){listing->waiting + next, 4});
        size_t length = take_u16(&reader);
        uint32_t depth = take_u16(&reader);
        const char *place = (const char *)listing->waiting + next + 4;
        next += 4 + length + 1;
        if (listing->room == 0) {
            listing->is_truncated = true;
            break;
        }
        int error = list_directory(listing, place, depth + 1);
        /* A directory that went away or cannot be read hides only what is below it. */
        if (error == FAULT_CANCELLED)
            return error;
    }
    return 0;
}

static int list_with(struct listing *listing)
{
    listing->waiting = reserve(WAITING_BYTES);
    listing->names = reserve(NAMES_BYTES);
    listing->index = reserve(MAX_NAMES * sizeof listing->index[0]);
    if (listing->waiting == NULL || listing->names == NULL || listing->index == NULL)
        return ENOMEM;
    begin_batch(listing);
    int error = list_directory(listing, "", 1);
    if (error == 0)
        error = visit_waiting(listing);
    return error != 0 ? error : send_batch(listing);
}

int list_tree(struct worker *worker, struct reader *request)
{
    char base[MAX_PATH_BYTES + 1];
    struct path path;
    struct bytes given = take_string(request);
    struct listing listing = {.worker = worker, .base = base, .depth = take_u16(request)};
    listing.room = take_u32(request);
    listing.skipped = (struct bytes){request->at, request->left};
    int error = path_parse(&path, given);
    if (error == 0) {
        memcpy(base, given.at, given.length);
        base[given.length] = 0;
        error = list_with(&listing);
    }
    if (error != 0)
        return answer_fault(worker, 0, error, "unreadable");
    uint8_t is_truncated = listing.is_truncated;
    return tell(worker, BOX_LISTED, (struct bytes){&is_truncated, 1});
}
