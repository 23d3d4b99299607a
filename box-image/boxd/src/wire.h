/* Fields in payloads: little-endian integers and length-prefixed byte strings. */
#ifndef BOXD_WIRE_H
#define BOXD_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes {
    const uint8_t *at;
    size_t length;
};

/* Reading past the end gives zeros and sets `broken`; nothing outside is touched. */
struct reader {
    const uint8_t *at;
    size_t left;
    bool broken;
};

struct reader reader_of(struct bytes bytes);
uint8_t take_u8(struct reader *reader);
uint16_t take_u16(struct reader *reader);
uint32_t take_u32(struct reader *reader);
uint64_t take_u64(struct reader *reader);
struct bytes take_string(struct reader *reader);

/*
 * Whether a payload has a layout: 1 2 4 8 = an integer of so many bytes, s = a string without NUL, *(...) = a u32 count
 * and so many groups. Everything after this check may read without looking back.
 */
bool shape_fits(struct bytes payload, const char *shape);

/* What does not fit is left out and sets `full`. */
struct writer {
    uint8_t *at;
    size_t left;
    bool full;
};

struct writer writer_on(void *memory, size_t length);
void put_u8(struct writer *writer, uint8_t value);
void put_u16(struct writer *writer, uint16_t value);
void put_u32(struct writer *writer, uint32_t value);
void put_u64(struct writer *writer, uint64_t value);
void put_string(struct writer *writer, const void *bytes, size_t length);
void put_text(struct writer *writer, const char *text);

#endif
