// Preloaded into a shell that is to be killed before or after it writes a file itself: `echo 1 >FILE` starts no program.
// Counts its writes below $MOMENTS_WRITES, writes "write N" to $MOMENTS/order, and ends it at $MOMENT.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int writes, written;

static const char *told(const char *name) {
    const char *value = getenv(name);
    return value ? value : "";
}

static void at(const char *when) {
    char here[64];
    snprintf(here, sizeof here, "%s write %d", when, writes);
    if (!strcmp(here, told("MOMENT"))) kill(getpid(), atoi(told("MOMENT_SIGNAL")));
}

typedef int opening(const char *, int, ...);

static int opened(const char *name, const char *path, int flags, mode_t mode) {
    opening *real = (opening *)dlsym(RTLD_NEXT, name);
    const char *below = told("MOMENTS_WRITES");
    if ((flags & O_ACCMODE) == O_RDONLY || atoi(told("MOMENTS_OF")) != getpid() || !*below || strncmp(path, below, strlen(below)))
        return real(path, flags, mode);
    char order[4096];
    snprintf(order, sizeof order, "%s/order", told("MOMENTS"));
    writes++;
    int log = real(order, O_WRONLY | O_APPEND | O_CREAT, 0600);
    if (log >= 0) dprintf(log, "write %d\n", writes), close(log);
    at("before");
    written = 1;
    return real(path, flags, mode);
}

#define OPEN(name)                                                             \
    int name(const char *path, int flags, ...) {                               \
        va_list more;                                                          \
        va_start(more, flags);                                                 \
        mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;              \
        va_end(more);                                                          \
        return opened(#name, path, flags, mode);                               \
    }
OPEN(open)
OPEN(open64)

ssize_t write(int file, const void *data, size_t size) {
    ssize_t done = ((ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write"))(file, data, size);
    if (written) written = 0, at("after");
    return done;
}
