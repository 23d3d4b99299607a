/* boxd: does all work in a box over one channel. PROTOCOL.md has the frames. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe.h"
#include "protocol.h"
#include "server.h"
#include "supervise.h"
#include "sys.h"

#define WORKSPACE "/workspace"
enum { EXIT_TIMED_OUT = 124, EXIT_SIGNALLED = 128 };

static int usage(void)
{
    static const char text[] = "usage: boxd hold\n"
                               "       boxd serve [--dial SOCKET] [--root DIRECTORY] [--walk]\n"
                               "       boxd run SECONDS -- PROGRAM [ARGUMENT...]\n"
                               "       boxd probe\n"
                               "       boxd version\n";
    write_all(2, text, sizeof text - 1);
    return END_USAGE;
}

static int complain(const char *what, int error)
{
    char text[256];
    snprintf(text, sizeof text, "boxd: %s: %s\n", what, strerror(error));
    write_all(2, text, strlen(text));
    return END_UNABLE;
}

/* Keeps a container alive: does nothing but take ended processes and leave when told to. */
static int hold(void)
{
    sigset_t watched;
    sigemptyset(&watched);
    sigaddset(&watched, SIGTERM);
    sigaddset(&watched, SIGINT);
    sigaddset(&watched, SIGCHLD);
    sigprocmask(SIG_BLOCK, &watched, NULL);
    for (;;) {
        int number = sigwaitinfo(&watched, NULL);
        if (number == SIGTERM || number == SIGINT)
            return END_CLEAN;
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
    }
}

static int dial(const char *place)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(place) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(address.sun_path, place, strlen(place) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) < 0)
        close_fd(&fd);
    return fd;
}

/* Whoever listens knows by it whom it talks to; nobody who looks at our environment later finds it there. */
static int tell_token(int fd)
{
    char *token = getenv("BOXD_TOKEN");
    if (token == NULL)
        return 0;
    char kept[256];
    size_t length = strlen(token);
    if (length > sizeof kept)
        return E2BIG;
    memcpy(kept, token, length);
    memset(token, 0, length);
    return write_all(fd, kept, length);
}

static int start_server(char **arguments)
{
    const char *place = WORKSPACE, *socket_place = NULL;
    bool is_walking = false;
    struct root root;
    for (; *arguments != NULL; arguments++) {
        bool has_value = arguments[1] != NULL;
        if (strcmp(*arguments, "--walk") == 0)
            is_walking = true;
        else if (strcmp(*arguments, "--root") == 0 && has_value)
            place = *++arguments;
        else if (strcmp(*arguments, "--dial") == 0 && has_value)
            socket_place = *++arguments;
        else
            return usage();
    }
    int error = root_open(&root, place);
    if (error != 0)
        return complain(place, error);
    root_serve(&root, is_walking);
    if (socket_place == NULL)
        return serve(0, 1, &root);
    int fd = dial(socket_place);
    int refusal = fd < 0 ? errno : tell_token(fd);
    return refusal != 0 ? complain(socket_place, refusal) : serve(fd, fd, &root);
}

/* A descriptor that is readable when somebody asks us to end. */
static int watch_ends(void)
{
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGHUP);
    return signalfd(-1, &ends, SFD_NONBLOCK | SFD_CLOEXEC);
}

static int run(char **arguments)
{
    extern char **environ;
    static const uint8_t no_limits[4];
    char *end;
    if (arguments[0] == NULL || arguments[1] == NULL || strcmp(arguments[1], "--") != 0 || arguments[2] == NULL)
        return usage();
    errno = 0;
    unsigned long long seconds = strtoull(arguments[0], &end, 10);
    if (*end != 0 || end == arguments[0] || errno != 0 || seconds > 1000000)
        return usage();
    struct root root = {.fd = -1};
    struct supervision supervision = {.root = &root, .stdio = {.in = 0, .out = 1, .error = 2}, .is_alone = true};
    struct spawn_plan plan = {
        .argv = arguments + 2,
        .envp = environ,
        .cwd = {no_limits, 0},
        .timeout_ms = seconds * 1000,
        .limits = {no_limits, sizeof no_limits},
    };
    block_signals();
    supervision.control = watch_ends();
    /* Where the command runs is where we were started. */
    int error = root_open(&root, ".");
    if (error != 0 || supervision.control < 0)
        return complain("start", error != 0 ? error : errno);
    struct exit_report report = supervise(&supervision, &plan);
    if (report.by == EXIT_BY_TIMEOUT)
        return EXIT_TIMED_OUT;
    if (report.ended == ENDED_BY_SIGNAL)
        return EXIT_SIGNALLED + report.value;
    return report.ended == ENDED_WITH_CODE ? report.value : END_UNABLE;
}

int main(int count, char **arguments)
{
    const char *verb = count > 1 ? arguments[1] : "";
    if (strcmp(verb, "hold") == 0 && count == 2)
        return hold();
    if (strcmp(verb, "serve") == 0)
        return start_server(arguments + 2);
    if (strcmp(verb, "run") == 0)
        return run(arguments + 2);
    if (strcmp(verb, "probe") == 0 && count == 2)
        return probe();
    if (strcmp(verb, "version") == 0 && count == 2) {
        printf("boxd %s protocol %d\n", BOXD_VERSION, PROTOCOL);
        return END_CLEAN;
    }
    return usage();
}
