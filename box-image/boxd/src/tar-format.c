#define _GNU_SOURCE
#include "tar-format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faults.h"

/* Where the fields of a header are. */
enum {
    AT_NAME = 0, AT_MODE = 100, AT_UID = 108, AT_GID = 116, AT_SIZE = 124, AT_MODIFIED = 136, AT_SUM = 148, AT_TYPE = 156,
    AT_MAGIC = 257, AT_PREFIX = 345,
};

static void put_octal(uint8_t *field, size_t width, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%0*llo", (int)width - 1, (unsigned long long)value);
    memcpy(field, text, width - 1);
    field[width - 1] = 0;
}

/* The sum takes its own field for spaces. */
static uint32_t sum_of(const uint8_t block[TAR_BLOCK])
{
    uint32_t sum = 0;
    for (size_t index = 0; index < TAR_BLOCK; index++)
        sum += index >= AT_SUM && index < AT_SUM + 8 ? ' ' : block[index];
    return sum;
}

void tar_write_header(uint8_t block[TAR_BLOCK], const struct tar_entry *entry)
{
    memset(block, 0, TAR_BLOCK);
    size_t length = strlen(entry->name);
    memcpy(block + AT_NAME, entry->name, length < TAR_NAME_BYTES ? length : TAR_NAME_BYTES);
    put_octal(block + AT_MODE, 8, entry->mode & 0777);
    put_octal(block + AT_UID, 8, 0);
    put_octal(block + AT_GID, 8, 0);
    put_octal(block + AT_SIZE, 12, entry->size <= TAR_MAX_SIZE ? entry->size : 0);
    uint64_t modified = entry->modified < 0 ? 0 : (uint64_t)entry->modified;
    put_octal(block + AT_MODIFIED, 12, modified <= TAR_MAX_SIZE ? modified : 0);
    block[AT_TYPE] = (uint8_t)entry->type;
    memcpy(block + AT_MAGIC, "ustar\0" "00", 8);
    put_octal(block + AT_SUM, 7, sum_of(block));
    block[AT_SUM + 7] = ' ';
}

/* "length name=value\n", where the length counts itself. */
static size_t put_record(char *records, size_t size, const char *name, const char *value)
{
    size_t rest = strlen(name) + strlen(value) + 3, total = rest + 1;
    for (int digits = 1; digits < 7; digits++) {
        char text[32];
        total = rest + (size_t)digits;
        if (snprintf(text, sizeof text, "%zu", total) == digits)
            break;
    }
    int put = snprintf(records, size, "%zu %s=%s\n", total, name, value);
    return put > 0 && (size_t)put < size ? (size_t)put : 0;
}

size_t tar_write_pax(char *records, size_t size, const struct tar_entry *entry)
{
    size_t length = 0;
    if (strlen(entry->name) > TAR_NAME_BYTES)
        length += put_record(records, size, "path", entry->name);
    if (entry->size > TAR_MAX_SIZE) {
        char text[32];
        snprintf(text, sizeof text, "%llu", (unsigned long long)entry->size);
        length += put_record(records + length, size - length, "size", text);
    }
    return length;
}

bool tar_is_end(const uint8_t block[TAR_BLOCK])
{
    for (size_t index = 0; index < TAR_BLOCK; index++)
        if (block[index] != 0)
            return false;
    return true;
}

/* Octal digits, spaces before and a space or zero behind; nothing else, and no binary forms. */
static bool take_octal(const uint8_t *field, size_t width, uint64_t *value)
{
    size_t at = 0;
    *value = 0;
    while (at < width && field[at] == ' ')
        at++;
    size_t first = at;
    for (; at < width && field[at] >= '0' && field[at] <= '7'; at++)
        *value = *value << 3 | (uint64_t)(field[at] - '0');
    bool has_digits = at > first;
    for (; at < width; at++)
        if (field[at] != 0 && field[at] != ' ')
            return false;
    return has_digits;
}

static void take_name(const uint8_t block[TAR_BLOCK], char *name)
{
    size_t prefix = strnlen((const char *)block + AT_PREFIX, TAR_PREFIX_BYTES);
    size_t length = strnlen((const char *)block + AT_NAME, TAR_NAME_BYTES);
    if (prefix > 0 && memcmp(block + AT_MAGIC, "ustar\0", 6) == 0) {
        memcpy(name, block + AT_PREFIX, prefix);
        name += prefix;
        *name++ = '/';
    }
    memcpy(name, block + AT_NAME, length);
    name[length] = 0;
}

int tar_read_header(const uint8_t block[TAR_BLOCK], struct tar_entry *entry)
{
    uint64_t sum, mode;
    if (!take_octal(block + AT_SUM, 8, &sum) || sum != sum_of(block) || memcmp(block + AT_MAGIC, "ustar", 5) != 0)
        return FAULT_BAD_ARCHIVE;
    if (!take_octal(block + AT_MODE, 8, &mode) || !take_octal(block + AT_SIZE, 12, &entry->size))
        return FAULT_BAD_ARCHIVE;
    entry->mode = (mode_t)(mode & 0777);
    entry->type = (char)block[AT_TYPE];
    take_name(block, entry->name);
    return 0;
}

static bool take_decimal(const char *text, size_t length, uint64_t *value)
{
    *value = 0;
    for (size_t index = 0; index < length; index++) {
        if (text[index] < '0' || text[index] > '9' || *value > UINT64_MAX / 20)
            return false;
        *value = *value * 10 + (uint64_t)(text[index] - '0');
    }
    return length > 0;
}

static int take_record(const char *record, size_t length, struct tar_entry *entry, bool *has_name, bool *has_size)
{
    const char *equals = memchr(record, '=', length);
    if (equals == NULL)
        return FAULT_BAD_ARCHIVE;
    const char *value = equals + 1;
    size_t key = (size_t)(equals - record), rest = length - key - 1;
    if (key == 4 && memcmp(record, "path", 4) == 0) {
        if (rest > MAX_PATH_BYTES || memchr(value, 0, rest) != NULL)
            return FAULT_BAD_ARCHIVE;
        memcpy(entry->name, value, rest);
        entry->name[rest] = 0;
        *has_name = true;
    } else if (key == 4 && memcmp(record, "size", 4) == 0) {
        if (!take_decimal(value, rest, &entry->size))
            return FAULT_BAD_ARCHIVE;
        *has_size = true;
    }
    return 0;
}

int tar_read_pax(const char *records, size_t length, struct tar_entry *entry, bool *has_name, bool *has_size)
{
    while (length > 0) {
        const char *space = memchr(records, ' ', length < 8 ? length : 8);
        uint64_t total;
        if (space == NULL || !take_decimal(records, (size_t)(space - records), &total) || total > length)
            return FAULT_BAD_ARCHIVE;
        size_t head = (size_t)(space - records) + 1;
        if (total < head + 2 || records[total - 1] != '\n')
            return FAULT_BAD_ARCHIVE;
        int error = take_record(space + 1, (size_t)total - head - 1, entry, has_name, has_size);
        if (error != 0)
            return error;
        records += total;
        length -= (size_t)total;
    }
    return 0;
}
