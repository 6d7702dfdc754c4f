/* A wall clock that jumps: preloaded into a process, it adds to the time of day the nanoseconds that stand, as one
 * 64-bit number, in the file named by SOAK_CLOCK. The monotonic clock is left alone, as a real jump leaves it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *offset_ns;

__attribute__((constructor)) static void open_offset(void) {
    const char *path = getenv("SOAK_CLOCK");
    int fd = path ? open(path, O_RDONLY) : -1;
    if (fd < 0)
        return;
    void *page = mmap(NULL, sizeof *offset_ns, PROT_READ, MAP_SHARED, fd, 0);
    if (page != MAP_FAILED)
        offset_ns = page;
    close(fd);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, time);
    if (result == 0 && offset_ns && clock == CLOCK_REALTIME) {
        int64_t ns = (int64_t)time->tv_sec * 1000000000 + time->tv_nsec + *offset_ns;
        time->tv_sec = ns / 1000000000;
        time->tv_nsec = ns % 1000000000;
    }
    return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    struct timespec now;
    (void)zone;
    int result = clock_gettime(CLOCK_REALTIME, &now);
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return result;
}

time_t time(time_t *where) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (where)
        *where = now.tv_sec;
    return now.tv_sec;
}
