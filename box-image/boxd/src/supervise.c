#define _GNU_SOURCE
#include "supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faults.h"
#include "kill-tree.h"
#include "protocol.h"
#include "sys.h"

/* A sweep that takes longer is told; it goes on all the same. */
#define SWEEP_LIMIT (10 * SECONDS)
#define SWEEP_PAUSE (1 * MILLISECONDS)
#define HOME_NAME ".home"
#define SLOW_SWEEP_PAUSE (50 * MILLISECONDS)

struct supervisor {
    int control, watch;
    pid_t foreground;
    bool has_ended;
    int status;
    struct rusage usage;
    int64_t started_ns, ended_ns, deadline_ns;
    struct counters counters;
    struct process_table *table;
};

static void send_news(const struct supervisor *self, const struct news *news)
{
    while (send(self->control, news, sizeof *news, MSG_NOSIGNAL) < 0 && errno == EINTR)
        ;
}

static struct descent own_descent(void)
{
    return (struct descent){.top = getpid()};
}

/* Takes the ended children. @returns whether any child is left */
static bool reap(struct supervisor *self)
{
    for (;;) {
        int status;
        struct rusage usage;
        pid_t pid = wait4(-1, &status, WNOHANG, &usage);
        if (pid < 0 && errno == EINTR)
            continue;
        if (pid < 0)
            return false;
        if (pid == 0)
            return true;
        if (pid == self->foreground && !self->has_ended) {
            self->has_ended = true;
            self->status = status;
            self->usage = usage;
            self->ended_ns = now_ns();
        }
    }
}

static uint64_t microseconds(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * 1000000u + (uint64_t)time->tv_usec;
}

static struct exit_report report_exit(struct supervisor *self, uint8_t by)
{
    struct exit_report report = {
        .by = by,
        .started_ns = self->started_ns,
        .ended_ns = self->has_ended ? self->ended_ns : now_ns(),
        .user_us = microseconds(&self->usage.ru_utime),
        .system_us = microseconds(&self->usage.ru_stime),
        .max_resident_bytes = (uint64_t)self->usage.ru_maxrss * 1024u,
        .counters = read_counters(),
    };
    if (self->has_ended && WIFSIGNALED(self->status)) {
        report.ended = ENDED_BY_SIGNAL;
        report.value = (uint16_t)WTERMSIG(self->status);
    } else if (self->has_ended) {
        report.ended = ENDED_WITH_CODE;
        report.value = (uint16_t)WEXITSTATUS(self->status);
    }
    /* A shell turns the signal of its child into a code. */
    bool is_killed = (report.ended == ENDED_BY_SIGNAL && report.value == SIGKILL) ||
                     (report.ended == ENDED_WITH_CODE && report.value == 128 + SIGKILL);
    report.may_be_memory = by == EXIT_BY_ITSELF && is_killed &&
                           report.counters.memory_kills > self->counters.memory_kills;
    if (reap(self)) {
        struct descent descent = own_descent();
        self->table->count = 0;
        report.leftovers = (uint32_t)process_table_read(self->table, &descent);
    }
    return report;
}

/* Ends everything below, whatever it does against it. @returns whether all of it is gone in time */
static bool sweep(struct supervisor *self)
{
    struct descent descent = own_descent();
    int64_t until = now_ns() + SWEEP_LIMIT;
    while (reap(self)) {
        if (now_ns() > until)
            return false;
        kill_tree_pass(self->table, &descent);
        struct pollfd watched = {.fd = self->watch, .events = POLLIN};
        poll(&watched, 1, SWEEP_PAUSE / MILLISECONDS);
        drain_watch(self->watch);
    }
    return true;
}

static void sweep_to_the_end(struct supervisor *self)
{
    while (!sweep(self))
        pause_ns(SLOW_SWEEP_PAUSE);
}

/* A foreground process that was reaped has no number any more. */
static void signal_foreground(const struct supervisor *self, const struct order *order)
{
    if (order->group > 1)
        kill(-order->group, order->number);
    else if (!self->has_ended)
        kill(-self->foreground, order->number);
}

enum wish { WISH_NOTHING, WISH_KILL, WISH_GONE };

static enum wish take_order(struct supervisor *self)
{
    struct order order;
    ssize_t got = recv(self->control, &order, sizeof order, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return WISH_NOTHING;
    if (got != (ssize_t)sizeof order)
        return WISH_GONE;
    if (order.kind == ORDER_SIGNAL) {
        signal_foreground(self, &order);
        return WISH_NOTHING;
    }
    if (order.kind == ORDER_TERM) {
        struct descent descent = own_descent();
        terminate_tree(self->table, &descent);
        return WISH_NOTHING;
    }
    struct news news = {.kind = NEWS_KILLING};
    send_news(self, &news);
    return WISH_KILL;
}

/* Waits for orders and ended children. */
static enum wish wait_for_wish(struct supervisor *self, int64_t until)
{
    struct pollfd watched[2] = {{.fd = self->watch, .events = POLLIN}, {.fd = self->control, .events = POLLIN}};
    int timeout = -1;
    if (until != 0) {
        int64_t left = until - now_ns();
        timeout = left <= 0 ? 0 : (int)((left < 60 * SECONDS ? left : 60 * SECONDS) / MILLISECONDS) + 1;
    }
    if (poll(watched, 2, timeout) <= 0)
        return WISH_NOTHING;
    drain_watch(self->watch);
    return watched[1].revents != 0 ? take_order(self) : WISH_NOTHING;
}

/* Until the foreground process ends or somebody wants it to. @returns by whom it ended */
static uint8_t follow(struct supervisor *self)
{
    for (;;) {
        reap(self);
        if (self->has_ended)
            return EXIT_BY_ITSELF;
        if (self->deadline_ns != 0 && now_ns() >= self->deadline_ns)
            return EXIT_BY_TIMEOUT;
        if (wait_for_wish(self, self->deadline_ns) != WISH_NOTHING)
            return EXIT_BY_KILL;
    }
}

static void linger(struct supervisor *self)
{
    while (reap(self))
        if (wait_for_wish(self, 0) != WISH_NOTHING)
            sweep_to_the_end(self);
}

/* What a command may have shut so that no other one could start: the workspace itself, and its home there. */
static void regain_common(const struct root *root)
{
    struct stat info;
    int home = -1;
    regain(root->fd);
    if (peek(root->fd, HOME_NAME, &home, &info) == 0)
        regain(home);
    close_fd(&home);
}

/* Holds a directory that can be entered. */
static int open_start(const struct root *root, const char *relative, int *directory)
{
    int error = open_directory(root, relative, STRIDE_MAKE, directory);
    if (error != 0)
        return error;
    int inside = openat(*directory, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    error = inside < 0 ? errno : 0;
    close_fd(&inside);
    if (error != 0)
        close_fd(directory);
    return error;
}

static int start(struct supervisor *self, const struct supervision *supervision, const struct spawn_plan *plan)
{
    char relative[MAX_PATH_BYTES + 1];
    struct path path;
    int directory = -1;
    int error = path_parse(&path, plan->cwd);
    if (error != 0)
        return error;
    memcpy(relative, plan->cwd.at, plan->cwd.length);
    relative[plan->cwd.length] = 0;
    umask(022);
    error = open_start(supervision->root, relative, &directory);
    if (error == EACCES) {
        regain_common(supervision->root);
        error = open_start(supervision->root, relative, &directory);
    }
    if (error != 0)
        return error;
    self->started_ns = now_ns();
    self->foreground = fork();
    if (self->foreground == 0)
        become_command(plan, &supervision->stdio, directory);
    error = self->foreground < 0 ? errno : 0;
    close(directory);
    return error;
}

static void close_stdio(const struct stdio *stdio)
{
    int descriptors[] = {stdio->in, stdio->out, stdio->error};
    for (size_t index = 0; index < 3; index++)
        if (descriptors[index] > 2 && (index == 0 || descriptors[index] != descriptors[index - 1]))
            close(descriptors[index]);
}

struct exit_report supervise(const struct supervision *supervision, const struct spawn_plan *plan)
{
    static struct process_table table;
    struct supervisor self = {.control = supervision->control, .table = &table, .watch = watch_children()};
    struct exit_report report = {.by = EXIT_BY_LOSS};
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    self.counters = read_counters();
    int error = self.watch < 0 ? errno : start(&self, supervision, plan);
    close_stdio(&supervision->stdio);
    if (error != 0) {
        struct news refusal = {.kind = NEWS_FAULT};
        snprintf(refusal.fault, sizeof refusal.fault, "%s", fault_word(error, "denied"));
        send_news(&self, &refusal);
        return report;
    }
    if (plan->timeout_ms != 0 && plan->timeout_ms < (uint64_t)(INT64_MAX / MILLISECONDS / 2))
        self.deadline_ns = self.started_ns + (int64_t)plan->timeout_ms * MILLISECONDS;
    struct news started = {.kind = NEWS_STARTED, .pid = self.foreground, .started_ns = self.started_ns,
                           .counters = self.counters};
    send_news(&self, &started);

    uint8_t by = follow(&self);
    if (by != EXIT_BY_ITSELF)
        sweep(&self);
    report = report_exit(&self, by);
    struct news ended = {.kind = NEWS_EXIT, .exit = report};
    send_news(&self, &ended);
    if (by != EXIT_BY_ITSELF || supervision->is_alone)
        sweep_to_the_end(&self);
    else
        linger(&self);
    return report;
}
