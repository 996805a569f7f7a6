/* loading.h - what the load generators for queues and for WebSocket have in common: connections, and figures of the
 * machine. One process, one thread, epoll. */
#ifndef LOADING_H
#define LOADING_H
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

static void die(const char *f, ...)
{
    va_list a; va_start(a, f);
    fprintf(stderr, "load generator: "); vfprintf(stderr, f, a); fputc('\n', stderr);
    exit(1);
}
static double now(void)
{
    struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}
static u64 now_ns(void)
{
    struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t);
    return (u64)t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* -------------------------------------------------------------- connections */
struct link {
    int fd, wants_out;
    u8 *in, *out;
    size_t ilen, icap, ostart, olen, ocap;
};
static int epfd = -1;

static void link_to(struct link *l, const char *host, int port)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };
    inet_pton(AF_INET, host, &a.sin_addr);
    memset(l, 0, sizeof *l);
    l->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(l->fd, (struct sockaddr *)&a, sizeof a)) die("connect: %s", strerror(errno));
    int one = 1; setsockopt(l->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}
static void watch(struct link *l, void *whose)
{
    struct epoll_event e = { .events = EPOLLIN, .data.ptr = whose };
    if (epfd < 0) epfd = epoll_create1(0);
    fcntl(l->fd, F_SETFL, O_NONBLOCK);
    epoll_ctl(epfd, EPOLL_CTL_ADD, l->fd, &e);
}
/* Where n octets can be appended to what is to be sent; tell their end by `appended`. */
static u8 *room(struct link *l, size_t n)
{
    if (l->olen + n > l->ocap) {
        memmove(l->out, l->out + l->ostart, l->olen - l->ostart);
        l->olen -= l->ostart; l->ostart = 0;
        if (l->olen + n > l->ocap) {
            l->ocap = (l->olen + n) * 2;
            if (!(l->out = realloc(l->out, l->ocap))) die("out of memory");
        }
    }
    return l->out + l->olen;
}
static void appended(struct link *l, u8 *end) { l->olen = end - l->out; }
static void send_out(struct link *l, void *whose)
{
    while (l->ostart < l->olen) {
        ssize_t n = send(l->fd, l->out + l->ostart, l->olen - l->ostart, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN) break;
        if (n < 0) die("send: %s", strerror(errno));
        l->ostart += n;
    }
    if (l->ostart == l->olen) l->ostart = l->olen = 0;
    int wants = l->olen != 0;
    if (wants != l->wants_out && epfd >= 0) {
        struct epoll_event e = { .events = EPOLLIN | (wants ? EPOLLOUT : 0), .data.ptr = whose };
        epoll_ctl(epfd, EPOLL_CTL_MOD, l->fd, &e);
        l->wants_out = wants;
    }
}
static int fill(struct link *l)                        /* 0 if nothing is there now */
{
    if (l->ilen + 65536 > l->icap) {
        l->icap = l->ilen + 262144;
        if (!(l->in = realloc(l->in, l->icap))) die("out of memory");
    }
    ssize_t n = recv(l->fd, l->in + l->ilen, l->icap - l->ilen, 0);
    if (n == 0) die("the broker has closed a connection");
    if (n < 0) { if (errno == EAGAIN) return 0; die("recv: %s", strerror(errno)); }
    l->ilen += n;
    return 1;
}
static void used_up(struct link *l, size_t used)
{
    memmove(l->in, l->in + used, l->ilen - used);
    l->ilen -= used;
}

/* ---------------------------------------------------------------- the machine */
static int children(int pid, int *to, int most)        /* the processes that this one has started itself */
{
    char f[64]; int n = 0;
    snprintf(f, sizeof f, "/proc/%d/task/%d/children", pid, pid);
    FILE *file = fopen(f, "r");
    while (file && n < most && fscanf(file, "%d", &to[n]) == 1) n++;
    if (file) fclose(file);
    return n;
}
static double of_all(int pid, double (*figure)(int))   /* of a process and all that come from it */
{
    int below[64]; double sum = figure(pid);
    for (int n = children(pid, below, 64); n--;) sum += of_all(below[n], figure);
    return sum;
}
static double cpu_of(int pid)                          /* user and system seconds */
{
    char f[64], line[1024], *p; unsigned long long user, sys;
    snprintf(f, sizeof f, "/proc/%d/stat", pid);
    FILE *file = fopen(f, "r");
    if (!file || !fgets(line, sizeof line, file)) { if (file) fclose(file); return 0; }
    fclose(file);
    if (!(p = strrchr(line, ')')) || sscanf(p + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &sys) != 2) return 0;
    return (double)(user + sys) / sysconf(_SC_CLK_TCK);
}
static __attribute__((unused)) double rss_of(int pid)  /* octets */
{
    char f[64], line[256]; double kib = 0;
    snprintf(f, sizeof f, "/proc/%d/status", pid);
    FILE *file = fopen(f, "r");
    while (file && fgets(line, sizeof line, file)) if (sscanf(line, "VmRSS: %lf", &kib) == 1) break;
    if (file) fclose(file);
    return kib * 1024;
}
static double cpu_self(void)
{
    struct rusage r; getrusage(RUSAGE_SELF, &r);
    return r.ru_utime.tv_sec + r.ru_utime.tv_usec / 1e6 + r.ru_stime.tv_sec + r.ru_stime.tv_usec / 1e6;
}
static double cpu_machine(void)                        /* busy seconds of all cores */
{
    unsigned long long user, nice, sys; FILE *file = fopen("/proc/stat", "r");
    if (!file || fscanf(file, "cpu %llu %llu %llu", &user, &nice, &sys) != 3) die("/proc/stat");
    fclose(file);
    return (double)(user + nice + sys) / sysconf(_SC_CLK_TCK);
}

/* What was spent between two looks. */
struct spent { double at, self, broker, machine; };
static void look(struct spent *s, int pid)
{
    s->at = now(); s->self = cpu_self(); s->broker = of_all(pid, cpu_of); s->machine = cpu_machine();
}
static void since(struct spent *s, int pid)
{
    struct spent then = *s; look(s, pid);
    s->at -= then.at; s->self -= then.self; s->broker -= then.broker; s->machine -= then.machine;
}

/* ------------------------------------------------------------------- samples */
static double *samples; static size_t n_samples, cap_samples;
static __attribute__((unused)) void sample(u64 began)  /* microseconds from then to now */
{
    if (n_samples == cap_samples) {
        cap_samples = cap_samples ? cap_samples * 2 : 1 << 16;
        if (!(samples = realloc(samples, cap_samples * sizeof *samples))) die("out of memory");
    }
    samples[n_samples++] = (now_ns() - began) / 1e3;
}
static int by_value(const void *a, const void *b) { double x = *(double *)a, y = *(double *)b; return x < y ? -1 : x > y; }
static double percentile(double q)                     /* of sorted samples */
{
    return n_samples ? samples[(size_t)(q * (n_samples - 1))] : 0;
}
static void sort_samples(void) { qsort(samples, n_samples, sizeof *samples, by_value); }
#endif
