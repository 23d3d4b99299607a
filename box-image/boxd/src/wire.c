#include "wire.h"

#include <string.h>

struct reader reader_of(struct bytes bytes)
{
    return (struct reader){.at = bytes.at, .left = bytes.length};
}

static uint64_t take_integer(struct reader *reader, size_t width)
{
    if (reader->broken || reader->left < width) {
        reader->broken = true;
        return 0;
    }
    uint64_t value = 0;
    for (size_t index = width; index > 0; index--)
        value = value << 8 | reader->at[index - 1];
    reader->at += width;
    reader->left -= width;
    return value;
}

uint8_t take_u8(struct reader *reader) { return (uint8_t)take_integer(reader, 1); }
uint16_t take_u16(struct reader *reader) { return (uint16_t)take_integer(reader, 2); }
uint32_t take_u32(struct reader *reader) { return (uint32_t)take_integer(reader, 4); }
uint64_t take_u64(struct reader *reader) { return take_integer(reader, 8); }

struct bytes take_string(struct reader *reader)
{
    size_t length = take_u32(reader);
    if (reader->broken || length > reader->left) {
        reader->broken = true;
        return (struct bytes){.at = (const uint8_t *)"", .length = 0};
    }
    struct bytes found = {.at = reader->at, .length = length};
    reader->at += length;
    reader->left -= length;
    return found;
}

/* Takes one field. @returns whether it was there and well formed. */
static bool skip_field(struct reader *reader, char field)
{
    if (field == 's') {
        struct bytes found = take_string(reader);
        return !reader->broken && (found.length == 0 || memchr(found.at, 0, found.length) == NULL);
    }
    take_integer(reader, (size_t)(field - '0'));
    return !reader->broken;
}

bool shape_fits(struct bytes payload, const char *shape)
{
    struct reader reader = reader_of(payload);
    for (const char *field = shape; *field != 0; field++) {
        if (*field != '*') {
            if (!skip_field(&reader, *field))
                return false;
            continue;
        }
        const char *group = field + 2;
        const char *end = strchr(group, ')');
        /* Every group takes at least one byte, so a count that lies ends with the payload. */
        for (uint32_t count = take_u32(&reader); count > 0; count--)
            for (const char *inner = group; inner < end; inner++)
                if (!skip_field(&reader, *inner))
                    return false;
        field = end;
    }
    return !reader.broken && reader.left == 0;
}

struct writer writer_on(void *memory, size_t length)
{
    return (struct writer){.at = memory, .left = length};
}

static void put_raw(struct writer *writer, const void *bytes, size_t length)
{
    if (writer->full || writer->left < length) {
        writer->full = true;
        return;
    }
    if (length > 0)
        memcpy(writer->at, bytes, length);
    writer->at += length;
    writer->left -= length;
}

static void put_integer(struct writer *writer, uint64_t value, size_t width)
{
    uint8_t bytes[8];
    for (size_t index = 0; index < width; index++)
        bytes[index] = (uint8_t)(value >> (8 * index));
    put_raw(writer, bytes, width);
}

void put_u8(struct writer *writer, uint8_t value) { put_integer(writer, value, 1); }
void put_u16(struct writer *writer, uint16_t value) { put_integer(writer, value, 2); }
void put_u32(struct writer *writer, uint32_t value) { put_integer(writer, value, 4); }
void put_u64(struct writer *writer, uint64_t value) { put_integer(writer, value, 8); }

void put_string(struct writer *writer, const void *bytes, size_t length)
{
    if (writer->full || writer->left < length + 4) {
        writer->full = true;
        return;
    }
    put_u32(writer, (uint32_t)length);
    put_raw(writer, bytes, length);
}

void put_text(struct writer *writer, const char *text) { put_string(writer, text, strlen(text)); }
