/* The numbers of PROTOCOL.md. Whatever is changed here is changed there too. */
#ifndef BOXD_PROTOCOL_H
#define BOXD_PROTOCOL_H

#define BOXD_VERSION "1.0.0"

enum {
    PROTOCOL = 1,
    HEADER_BYTES = 12,
    MAX_PAYLOAD = 65536,
    /* A request may come in several frames; together they stay below this. */
    MAX_REQUEST = 1 << 20,
    /* What the host may have on its way to one request, headers included. */
    IN_WINDOW = 524288,
    MAX_COMMANDS = 64,
    MAX_FILE_REQUESTS = 64,
    MAX_PING = 256,
    MAX_CONNECTIONS = 64,
    /* What the host may have on its way to one connection, headers included. */
    RELAY_WINDOW = 131072,
};

/* The host says. */
enum {
    HOST_HELLO = 0x01,
    HOST_PING = 0x02,
    HOST_CREDIT = 0x03,
    HOST_CANCEL = 0x04,
    HOST_DATA = 0x05,
    HOST_END = 0x06,
    HOST_KILL = 0x07,
    HOST_SIGNAL = 0x08,
    HOST_RESIZE = 0x09,

    REQUEST_SPAWN = 0x10,
    REQUEST_STAT = 0x11,
    REQUEST_LIST = 0x12,
    REQUEST_READ = 0x13,
    REQUEST_WRITE = 0x14,
    REQUEST_REMOVE = 0x15,
    REQUEST_RESET = 0x16,
    REQUEST_MKDIR = 0x17,
    REQUEST_RENAME = 0x18,
    REQUEST_TAR_OUT = 0x19,
    REQUEST_TAR_IN = 0x1a,
    REQUEST_PROCESSES = 0x1b,
    REQUEST_USAGE = 0x1c,
    REQUEST_RELAY = 0x1d,
};

/* The box says. */
enum {
    BOX_HELLO = 0x81,
    BOX_PONG = 0x82,
    BOX_CREDIT = 0x83,
    BOX_ERROR = 0x84,
    BOX_DONE = 0x85,
    BOX_FAULT = 0x86,
    BOX_STARTED = 0x87,
    BOX_STDOUT = 0x88,
    BOX_STDERR = 0x89,
    BOX_EXIT = 0x8a,
    BOX_ENTRY = 0x8b,
    BOX_BYTES = 0x8c,
    BOX_FINISHED = 0x8d,
    BOX_ENTRIES = 0x8e,
    BOX_LISTED = 0x8f,
    BOX_PROCESSES = 0x90,
    BOX_USAGE = 0x91,
    BOX_TAR = 0x92,
    BOX_RELAYING = 0x93,
    BOX_OPENED = 0x94,
    BOX_RECEIVED = 0x95,
    BOX_ENDED = 0x96,
};

/* Flags of a frame. */
enum { FLAG_MORE = 1 };

enum { DONE_COMPLETE = 0, DONE_CANCELLED = 1, DONE_LOST = 2, DONE_REFUSED = 3 };
enum { KILL_TERM = 1, KILL_TREE = 2 };
enum { KILL_DISCARD = 1 };
enum { SPAWN_STDIN = 1, SPAWN_TTY = 2 };
enum { EXIT_BY_ITSELF = 0, EXIT_BY_KILL = 1, EXIT_BY_TIMEOUT = 2, EXIT_BY_LOSS = 3 };
enum { ENDED_UNKNOWN = 0, ENDED_WITH_CODE = 1, ENDED_BY_SIGNAL = 2 };
enum { EXIT_FLAG_MEMORY = 1, EXIT_FLAG_HELD = 2 };
enum { LIMIT_CPU_SECONDS = 1, LIMIT_FILE_BYTES = 2, LIMIT_DESCRIPTORS = 3, LIMIT_ADDRESS_BYTES = 4 };
enum { WRITE_CREATE = 0, WRITE_OVERWRITE = 1, WRITE_APPEND = 2 };
enum { KIND_FILE = 0, KIND_DIRECTORY = 1, KIND_LINK = 2, KIND_OTHER = 3 };
enum { FEATURE_OPENAT2 = 1, FEATURE_COUNTERS = 2, FEATURE_TAR = 4, FEATURE_RELAY = 8 };

/* Connections that the box opens have ids from here on. */
#define FIRST_CONNECTION 0x80000000u

/* The index of a fault that is about the request as a whole. */
#define INDEX_WHOLE 0xffffffffu

/* How this program ends. */
enum { END_CLEAN = 0, END_USAGE = 64, END_PROTOCOL = 76, END_UNABLE = 71 };

#endif
