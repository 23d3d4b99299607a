/*
 * Mutates frames and feeds them to everything that parses: header, layout, spawn request, path, window of contents. The
 * same seed gives the same run. Built with sanitizers: any wrong access ends it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../src/entry.h"
#include "../src/files-open.h"
#include "../src/frames.h"
#include "../src/inflow.h"
#include "../src/spawn.h"
#include "../src/tar-format.h"

static uint64_t state;

/* xorshift: enough to wander, and the same everywhere. */
static uint32_t next_random(uint32_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16) % below;
}

static void put_random_strings(struct writer *writer, uint32_t most)
{
    static const char *const texts[] = {"", "a", "a/b", "..", "a/../b", "/bin/true", "x\ny", "\xff\xfe", "A=1"};
    uint32_t count = next_random(most + 1);
    put_u32(writer, count);
    while (count-- > 0)
        put_text(writer, texts[next_random(sizeof texts / sizeof texts[0])]);
}

/* A payload that is right more often than not. */
static size_t make_payload(uint8_t type, uint8_t *memory, size_t size)
{
    struct writer writer = writer_on(memory, size);
    if (type >= REQUEST_SPAWN)
        put_u32(&writer, next_random(100000));
    if (type == REQUEST_SPAWN) {
        put_random_strings(&writer, 4);
        put_random_strings(&writer, 3);
        put_text(&writer, "a/b");
        put_u8(&writer, (uint8_t)next_random(5));
        put_u16(&writer, 24);
        put_u16(&writer, 80);
        put_u64(&writer, next_random(1000));
        put_u32(&writer, 1);
        put_u8(&writer, (uint8_t)next_random(6));
        put_u64(&writer, 1000);
    } else if (type == REQUEST_STAT || type == REQUEST_RESET || type == REQUEST_MKDIR) {
        put_random_strings(&writer, 5);
    } else {
        for (uint32_t count = next_random(40); count > 0; count--)
            put_u8(&writer, (uint8_t)next_random(256));
    }
    return size - writer.left;
}

static size_t make_frame(uint8_t *memory, size_t size)
{
    uint8_t type = next_random(8) == 0 ? (uint8_t)next_random(256) : (uint8_t)(1 + next_random(REQUEST_RELAY));
    size_t length = make_payload(type, memory + HEADER_BYTES, size - HEADER_BYTES);
    struct frame frame = {.id = next_random(4), .type = type, .payload = {NULL, length}};
    frame_write_header(memory, &frame);
    return HEADER_BYTES + length;
}

static void mutate(uint8_t *memory, size_t *length)
{
    for (uint32_t count = next_random(4); count > 0 && *length > 0; count--) {
        size_t at = next_random((uint32_t)*length);
        switch (next_random(4)) {
        case 0:
            memory[at] ^= (uint8_t)(1u << next_random(8));
            break;
        case 1:
            memory[at] = next_random(2) == 0 ? 0xff : 0;
            break;
        case 2:
            *length = at;
            break;
        default:
            memory[at] = (uint8_t)next_random(256);
        }
    }
}

static void parse_paths(struct bytes payload)
{
    struct reader reader = reader_of(payload);
    take_u32(&reader);
    for (uint32_t count = take_u32(&reader); count > 0 && !reader.broken; count--) {
        struct path path;
        struct bytes given = take_string(&reader);
        if (path_parse(&path, given) == 0 && strlen(path.parent) + strlen(path.name) > given.length)
            abort();
    }
}

/* @returns whether the frame was one */
static bool feed(const uint8_t *bytes, size_t length)
{
    /* In memory of exactly its size, so that one byte too many is seen. */
    uint8_t *exact = malloc(length > 0 ? length : 1);
    struct frame frame;
    struct spawn_modes modes;
    memcpy(exact, bytes, length);
    bool is_frame = frame_parse((struct bytes){exact, length}, &frame) == FRAME_COMPLETE && frame_fits(&frame);
    if (is_frame && frame.type == REQUEST_SPAWN && spawn_is_valid(frame.payload, &modes)) {
        struct spawn_plan plan;
        if (spawn_plan_read(&plan, frame.payload) == 0) {
            free(plan.argv);
            free(plan.envp);
        }
    }
    if (is_frame && (frame.type == REQUEST_STAT || frame.type == REQUEST_RESET))
        parse_paths(frame.payload);
    free(exact);
    return is_frame;
}

/* Contents through a window: never more than allowed, never lost, in order. */
static void pump_contents(void)
{
    static uint8_t payload[MAX_PAYLOAD], read_back[MAX_PAYLOAD];
    int ends[2];
    if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) < 0)
        abort();
    struct inflow inflow;
    if (!inflow_open(&inflow, ends[1], false))
        abort();
    uint8_t sent = 0, seen = 0;
    size_t window = IN_WINDOW;
    for (int round = 0; round < 60; round++) {
        size_t length = next_random(4) == 0 ? next_random(MAX_PAYLOAD + 1) : next_random(300);
        struct frame frame = {.id = 1, .type = HOST_DATA, .payload = {payload, length}};
        bool may_send = length + HEADER_BYTES <= window;
        for (size_t index = 0; may_send && index < length; index++)
            payload[index] = sent++;
        if (inflow_accept(&inflow, &frame) != may_send)
            abort();
        window -= may_send ? length + HEADER_BYTES : 0;
        ssize_t got = read(ends[0], read_back, next_random(MAX_PAYLOAD + 1));
        for (ssize_t index = 0; index < got; index++)
            if (read_back[index] != seen++)
                abort();
        inflow_pump(&inflow);
        window += inflow_take_returned(&inflow);
    }
    inflow_close(&inflow);
    close(ends[0]);
}

/* Headers and records that were right before a few bytes of them changed. */
static void read_archives(void)
{
    static struct tar_entry entry, found;
    uint8_t block[TAR_BLOCK];
    char *records = malloc(MAX_PAX_BYTES);
    bool has_name = false, has_size = false;
    entry = (struct tar_entry){.type = TAR_FILE, .mode = 0644, .size = next_random(2) == 0 ? next_random(9999) : UINT64_MAX / 21};
    memset(entry.name, 'n', next_random(300));
    size_t length = tar_write_pax(records, MAX_PAX_BYTES, &entry);
    if (tar_read_pax(records, length, &found, &has_name, &has_size) != 0 || (has_name && strcmp(found.name, entry.name) != 0))
        abort();
    mutate((uint8_t *)records, &length);
    char *exact = malloc(length > 0 ? length : 1);
    memcpy(exact, records, length);
    tar_read_pax(exact, length, &found, &has_name, &has_size);
    tar_write_header(block, &entry);
    if (tar_read_header(block, &found) != 0)
        abort();
    size_t whole = sizeof block;
    mutate(block, &whole);
    tar_read_header(block, &found);
    free(exact);
    free(records);
}

int main(int count, char **arguments)
{
    static uint8_t memory[4096];
    uint32_t rounds = count > 1 ? (uint32_t)strtoul(arguments[1], NULL, 10) : 300000, frames = 0;
    state = count > 2 ? strtoull(arguments[2], NULL, 10) : 20261130;
    for (uint32_t round = 0; round < rounds; round++) {
        size_t length = make_frame(memory, sizeof memory);
        mutate(memory, &length);
        frames += feed(memory, length);
        if (round % 10 == 0)
            read_archives();
        if (round % 1000 == 0)
            pump_contents();
    }
    printf("%u mutated frames, %u of them well formed\n", rounds, frames);
    return frames > rounds / 20 ? 0 : 1;
}
