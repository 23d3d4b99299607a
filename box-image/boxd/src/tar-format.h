/* The subset of tar that we write and read: ustar headers, regular files and directories, pax records for path and size. */
#ifndef BOXD_TAR_FORMAT_H
#define BOXD_TAR_FORMAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "files-open.h"

enum { TAR_BLOCK = 512, TAR_NAME_BYTES = 100, TAR_PREFIX_BYTES = 155, MAX_PAX_BYTES = 16384 };
/* What twelve octal digits less one can say. */
#define TAR_MAX_SIZE UINT64_C(077777777777)

enum { TAR_FILE = '0', TAR_OLD_FILE = 0, TAR_DIRECTORY = '5', TAR_PAX = 'x', TAR_PAX_GLOBAL = 'g' };

struct tar_entry {
    char name[MAX_PATH_BYTES + 2];
    char type;
    mode_t mode;
    uint64_t size;
    int64_t modified;
};

/* Header of an entry whose name fits. */
void tar_write_header(uint8_t block[TAR_BLOCK], const struct tar_entry *entry);
/* Records for what does not fit. @returns their length, at most `size` */
size_t tar_write_pax(char *records, size_t size, const struct tar_entry *entry);

bool tar_is_end(const uint8_t block[TAR_BLOCK]);
/* @returns 0 or FAULT_BAD_ARCHIVE */
int tar_read_header(const uint8_t block[TAR_BLOCK], struct tar_entry *entry);
/* Takes path and size out of records into the entry they belong to; flags say which were there. */
int tar_read_pax(const char *records, size_t length, struct tar_entry *entry, bool *has_name, bool *has_size);

/* How many bytes fill up the last block. */
static inline size_t tar_padding(uint64_t size) { return (size_t)((TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK); }

#endif
