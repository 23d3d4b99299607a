#define _GNU_SOURCE
#include "commands.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "channel.h"
#include "sys.h"

/* Who holds the output after the end gets a moment, because a shell does not wait for its process substitutions. */
#define DRAIN_GRACE (100 * MILLISECONDS)
#define KILL_REACTION (1 * SECONDS)
/* The whole sweep; a supervisor that takes longer is given up and its processes become the server's. */
#define KILL_LIMIT (5 * SECONDS)
#define MAX_CREDIT (INT64_C(1) << 40)

struct command *command_find(struct server *server, uint32_t id)
{
    for (size_t index = 0; index < MAX_COMMANDS; index++)
        if (server->commands[index].is_used && server->commands[index].id == id)
            return &server->commands[index];
    return NULL;
}

static struct command *find_free(struct server *server)
{
    for (size_t index = 0; index < MAX_COMMANDS; index++)
        if (!server->commands[index].is_used)
            return &server->commands[index];
    return NULL;
}

static void close_streams(struct command *command)
{
    for (int stream = 0; stream < STREAMS; stream++)
        close_fd(&command->out[stream].fd);
    inflow_close(&command->input);
    close_fd(&command->terminal);
}

/* The server's ends in the command, the command's own in `stdio`. */
static bool open_pipes(struct command *command, const struct spawn_modes *modes, struct stdio *stdio)
{
    int input = -1;
    if (!make_pipe(&command->out[STREAM_OUT].fd, &stdio->out) ||
        !make_pipe(&command->out[STREAM_ERROR].fd, &stdio->error))
        return false;
    if (!set_nonblocking(command->out[STREAM_OUT].fd) || !set_nonblocking(command->out[STREAM_ERROR].fd))
        return false;
    if (!modes->has_input) {
        stdio->in = open("/dev/null", O_RDONLY | O_CLOEXEC);
        return stdio->in >= 0;
    }
    if (!make_pipe(&stdio->in, &input) || !set_nonblocking(input) || !inflow_open(&command->input, input, false)) {
        close_fd(&input);
        return false;
    }
    return true;
}

static bool open_terminal(struct command *command, const struct spawn_modes *modes, struct stdio *stdio)
{
    struct winsize size = {.ws_row = modes->rows, .ws_col = modes->columns};
    int unlock = 0;
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0)
        return false;
    command->out[STREAM_OUT].fd = master;
    if (fcntl(master, F_SETFD, FD_CLOEXEC) < 0 || !set_nonblocking(master) || ioctl(master, TIOCSPTLCK, &unlock) < 0 ||
        ioctl(master, TIOCSWINSZ, &size) < 0)
        return false;
    stdio->in = stdio->out = stdio->error = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    stdio->is_tty = true;
    command->terminal = fcntl(master, F_DUPFD_CLOEXEC, 3);
    int input = fcntl(master, F_DUPFD_CLOEXEC, 3);
    if (stdio->in < 0 || command->terminal < 0 || input < 0 || !inflow_open(&command->input, input, false)) {
        close_fd(&input);
        return false;
    }
    command->input.is_tty = true;
    return true;
}

static void close_stdio(struct stdio *stdio)
{
    if (stdio->is_tty)
        stdio->out = stdio->error = -1;
    close_fd(&stdio->in);
    close_fd(&stdio->out);
    close_fd(&stdio->error);
}

/* The child of the server that becomes the supervisor. */
static _Noreturn void become_supervisor(const struct server *server, int control, struct bytes payload,
                                        const struct stdio *stdio)
{
    struct supervision supervision = {.root = &server->root, .stdio = *stdio, .control = control};
    struct spawn_plan plan = {0};
    int kept[] = {control, server->root.fd, stdio->in, stdio->out, stdio->error};
    if (!detach_stdio())
        _exit(1);
    close_others(kept, sizeof kept / sizeof kept[0]);
    setsid();
    if (spawn_plan_read(&plan, payload) != 0)
        _exit(1);
    supervise(&supervision, &plan);
    _exit(0);
}

static bool start_supervisor(struct server *server, struct command *command, const struct spawn_modes *modes,
                             struct bytes payload)
{
    struct stdio stdio = {.in = -1, .out = -1, .error = -1};
    int theirs = -1;
    bool is_open = modes->is_tty ? open_terminal(command, modes, &stdio) : open_pipes(command, modes, &stdio);
    is_open = is_open && make_message_pair(&command->control, &theirs) && set_nonblocking(command->control);
    pid_t pid = is_open ? fork() : -1;
    if (pid == 0)
        become_supervisor(server, theirs, payload, &stdio);
    close_stdio(&stdio);
    close_fd(&theirs);
    command->supervisor = pid > 0 ? pid : 0;
    return pid > 0;
}

void command_spawn(struct server *server, const struct frame *request)
{
    struct spawn_modes modes;
    if (!spawn_is_valid(request->payload, &modes)) {
        break_off(server, "a spawn request without a program or with unknown flags or limits");
        return;
    }
    struct command *command = find_free(server);
    if (command == NULL) {
        say_fault(server, request->id, "busy");
        say_done(server, request->id, DONE_REFUSED);
        return;
    }
    *command = (struct command){.id = request->id, .control = -1, .terminal = -1};
    command->input.fd = -1;
    for (int stream = 0; stream < STREAMS; stream++)
        command->out[stream] = (struct outflow){.fd = -1, .credit = modes.window};
    if (!start_supervisor(server, command, &modes, request->payload)) {
        close_streams(command);
        close_fd(&command->control);
        say_fault(server, request->id, "busy");
        say_done(server, request->id, DONE_REFUSED);
        return;
    }
    command->is_used = true;
}

static void send_order(struct command *command, const struct order *order)
{
    /* One that takes no orders is met by its deadline. */
    if (command->control >= 0 && send(command->control, order, sizeof *order, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        errno = 0;
}

void command_kill(struct command *command, uint8_t mode, uint8_t flags)
{
    struct order order = {.kind = mode == KILL_TERM ? ORDER_TERM : ORDER_KILL};
    if ((flags & KILL_DISCARD) != 0)
        command->is_discarding = true;
    /* Its command may have stopped it. */
    if (command->supervisor > 0)
        kill(command->supervisor, SIGCONT);
    send_order(command, &order);
    if (mode == KILL_TREE && command->kill_deadline == 0)
        command->kill_deadline = now_ns() + KILL_REACTION;
}

void command_signal(struct command *command, uint8_t number)
{
    struct order order = {.kind = ORDER_SIGNAL, .number = number};
    pid_t group = 0;
    if (command->terminal >= 0 && ioctl(command->terminal, TIOCGPGRP, &group) == 0)
        order.group = group;
    send_order(command, &order);
}

void command_resize(struct command *command, uint16_t rows, uint16_t columns)
{
    struct winsize size = {.ws_row = rows, .ws_col = columns};
    if (command->terminal >= 0)
        ioctl(command->terminal, TIOCSWINSZ, &size);
}

void command_add_credit(struct command *command, uint8_t stream, uint32_t amount)
{
    struct outflow *out = &command->out[stream];
    out->credit = out->credit + amount < MAX_CREDIT ? out->credit + amount : MAX_CREDIT;
}

static void say_started(struct server *server, const struct command *command, const struct news *news)
{
    struct writer writer = writer_on(outbox_payload(&server->outbox), MAX_PAYLOAD);
    put_u32(&writer, (uint32_t)news->pid);
    put_u64(&writer, (uint64_t)news->started_ns);
    put_u64(&writer, (uint64_t)news->counters.memory_kills);
    put_u64(&writer, (uint64_t)news->counters.processes_refused);
    outbox_commit(&server->outbox, BOX_STARTED, command->id, MAX_PAYLOAD - writer.left);
}

static void say_exit(struct server *server, struct command *command)
{
    const struct exit_report *report = &command->exit;
    bool is_held = command->out[STREAM_OUT].fd >= 0 || command->out[STREAM_ERROR].fd >= 0;
    struct writer writer = writer_on(outbox_payload(&server->outbox), MAX_PAYLOAD);
    put_u8(&writer, report->by);
    put_u8(&writer, report->ended);
    put_u16(&writer, report->value);
    put_u32(&writer, report->leftovers);
    put_u64(&writer, (uint64_t)report->started_ns);
    put_u64(&writer, (uint64_t)report->ended_ns);
    put_u64(&writer, report->user_us);
    put_u64(&writer, report->system_us);
    put_u64(&writer, report->max_resident_bytes);
    put_u64(&writer, (uint64_t)report->counters.memory_kills);
    put_u64(&writer, (uint64_t)report->counters.processes_refused);
    put_u8(&writer, (uint8_t)((report->may_be_memory ? EXIT_FLAG_MEMORY : 0) | (is_held ? EXIT_FLAG_HELD : 0)));
    outbox_commit(&server->outbox, BOX_EXIT, command->id, MAX_PAYLOAD - writer.left);
    command->is_exit_sent = true;
}

static void begin_drain(struct command *command)
{
    command->has_exit = true;
    command->drain_until = now_ns() + DRAIN_GRACE;
    for (int stream = 0; stream < STREAMS; stream++) {
        int waiting = 0;
        if (command->out[stream].fd >= 0 && ioctl(command->out[stream].fd, FIONREAD, &waiting) == 0)
            command->out[stream].owed = waiting;
    }
}

void command_take_news(struct server *server, struct command *command)
{
    struct news news;
    ssize_t got = recv(command->control, &news, sizeof news, MSG_DONTWAIT);
    /* A reset says that it left without reading an order; what it said before still comes. */
    if (got < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNRESET))
        return;
    if (got != (ssize_t)sizeof news) {
        close_fd(&command->control);
        return;
    }
    switch (news.kind) {
    case NEWS_STARTED:
        say_started(server, command, &news);
        break;
    case NEWS_FAULT:
        news.fault[sizeof news.fault - 1] = 0;
        command->was_refused = true;
        say_fault(server, command->id, news.fault);
        break;
    case NEWS_KILLING:
        if (command->kill_deadline != 0)
            command->kill_deadline = now_ns() + KILL_LIMIT;
        break;
    default:
        command->exit = news.exit;
        begin_drain(command);
    }
}

bool command_is_readable(const struct command *command, int stream)
{
    const struct outflow *out = &command->out[stream];
    return out->fd >= 0 && (out->credit > 0 || command->is_discarding);
}

void command_take_output(struct server *server, struct command *command, int stream)
{
    struct outflow *out = &command->out[stream];
    ssize_t got = read_some(out->fd, outbox_payload(&server->outbox), MAX_PAYLOAD);
    if (got < 0 && errno == EAGAIN)
        return;
    /* A terminal whose last reader is gone ends with an error. */
    if (got <= 0) {
        close_fd(&out->fd);
        return;
    }
    out->owed -= got;
    if (command->is_discarding)
        return;
    out->credit -= HEADER_BYTES + got;
    outbox_commit(&server->outbox, stream == STREAM_OUT ? BOX_STDOUT : BOX_STDERR, command->id, (size_t)got);
}

/* Whether nothing more of its output is to be sent. */
static bool is_drained(const struct command *command)
{
    bool is_late = command->is_discarding || now_ns() >= command->drain_until;
    for (int stream = 0; stream < STREAMS; stream++) {
        const struct outflow *out = &command->out[stream];
        if (out->fd >= 0 && !(is_late && (out->owed <= 0 || command->is_discarding)))
            return false;
    }
    return true;
}

/* Nobody speaks for the command any more; what it started is swept as the server's own. */
static void give_up(struct server *server, struct command *command)
{
    command->is_lost = true;
    server->has_strays = true;
    if (command->has_exit)
        return;
    command->exit = (struct exit_report){.by = EXIT_BY_LOSS, .ended = ENDED_UNKNOWN, .ended_ns = now_ns()};
    command->exit.counters = read_counters();
    begin_drain(command);
}

void command_advance(struct server *server, struct command *command)
{
    bool has_left = command->supervisor == 0 && command->control < 0;
    if (command->supervisor != 0 && command->kill_deadline != 0 && now_ns() >= command->kill_deadline) {
        kill(command->supervisor, SIGKILL);
        command->kill_deadline = now_ns() + KILL_REACTION;
    }
    bool is_silent = !command->has_exit && !command->was_refused;
    if (has_left && !command->is_lost && (command->was_killed || is_silent))
        give_up(server, command);
    bool is_clear = !(command->is_lost && server->has_strays) && outbox_has_room(&server->outbox);
    if (command->has_exit && !command->is_exit_sent && is_clear && is_drained(command)) {
        say_exit(server, command);
        close_streams(command);
    }
    bool is_told = command->is_exit_sent || command->was_refused;
    if (!has_left || !is_told || !is_clear || !outbox_has_room(&server->outbox))
        return;
    uint8_t status = command->was_refused ? DONE_REFUSED : DONE_COMPLETE;
    say_done(server, command->id, command->is_lost ? DONE_LOST : status);
    close_streams(command);
    command->is_used = false;
}

int64_t command_deadline(const struct command *command)
{
    int64_t deadline = command->supervisor != 0 ? command->kill_deadline : 0;
    bool is_draining = command->has_exit && !command->is_exit_sent;
    /* Behind its time it waits for credit, not for the clock. */
    if (is_draining && now_ns() < command->drain_until && (deadline == 0 || command->drain_until < deadline))
        deadline = command->drain_until;
    return deadline;
}

void command_abandon(struct command *command)
{
    close_streams(command);
    close_fd(&command->control);
}
