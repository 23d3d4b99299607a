#include "frames.h"

/* The types of the host are two runs without gaps. */
static bool is_known(uint8_t type)
{
    return (type >= HOST_HELLO && type <= HOST_RESIZE) || (type >= REQUEST_SPAWN && type <= REQUEST_RELAY);
}

enum frame_state frame_parse(struct bytes bytes, struct frame *frame)
{
    if (bytes.length < HEADER_BYTES)
        return FRAME_INCOMPLETE;
    struct reader reader = reader_of(bytes);
    size_t length = take_u32(&reader);
    frame->id = take_u32(&reader);
    frame->type = take_u8(&reader);
    frame->flags = take_u8(&reader);
    bool has_rest = take_u16(&reader) != 0;
    bool may_go_on = frame->type >= REQUEST_SPAWN;
    if (length > MAX_PAYLOAD || has_rest || !is_known(frame->type))
        return FRAME_BROKEN;
    if ((frame->flags & ~FLAG_MORE) != 0 || (frame->flags != 0 && !may_go_on))
        return FRAME_BROKEN;
    if (reader.left < length)
        return FRAME_INCOMPLETE;
    frame->payload = (struct bytes){.at = reader.at, .length = length};
    return FRAME_COMPLETE;
}

void frame_write_header(uint8_t *header, const struct frame *frame)
{
    struct writer writer = writer_on(header, HEADER_BYTES);
    put_u32(&writer, (uint32_t)frame->payload.length);
    put_u32(&writer, frame->id);
    put_u8(&writer, frame->type);
    put_u8(&writer, frame->flags);
    put_u16(&writer, 0);
}

/* The payload of each type, requests with their window first. */
static const char *shape_of(uint8_t type)
{
    static const char *const shapes[] = {
        [HOST_HELLO] = "22s",
        [HOST_CREDIT] = "14",
        [HOST_CANCEL] = "",
        [HOST_END] = "",
        [HOST_KILL] = "11",
        [HOST_SIGNAL] = "1",
        [HOST_RESIZE] = "22",
        [REQUEST_SPAWN] = "4*(s)*(s)s1228*(18)",
        [REQUEST_STAT] = "4*(s)",
        [REQUEST_LIST] = "4s24*(s)",
        [REQUEST_READ] = "4*(s88s)",
        [REQUEST_WRITE] = "4*(s18s2)",
        [REQUEST_REMOVE] = "4*(ss1)",
        [REQUEST_RESET] = "4*(s)",
        [REQUEST_MKDIR] = "4*(s)",
        [REQUEST_RENAME] = "4ss1",
        [REQUEST_TAR_OUT] = "4s",
        [REQUEST_TAR_IN] = "4s8",
        [REQUEST_PROCESSES] = "",
        [REQUEST_USAGE] = "",
        [REQUEST_RELAY] = "442",
    };
    return type < sizeof shapes / sizeof shapes[0] ? shapes[type] : NULL;
}

bool frame_fits(const struct frame *frame)
{
    const char *shape = shape_of(frame->type);
    return shape == NULL || shape_fits(frame->payload, shape);
}
