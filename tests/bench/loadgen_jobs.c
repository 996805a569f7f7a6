/* loadgen_jobs.c - jobs through an eMQP broker, over ZMTP 3.0, spoken here so that it costs next to nothing.
 *
 * workload router  one client, and one worker that is as fast as can be: it answers REQUEST by REPLY and READY at once
 * workload jobs    one client; whoever works has been started by others
 *
 * The client has --window jobs under way, or hands in --rate a second. A job of ours (emqp) is over when its result has
 * come to the client. EventMQ's router relays no results, so there (eventmq), and with --completions anywhere, a job is
 * over when the worker has done it: the fast worker is here, and the jobs of others send their id by UDP to the port in
 * their arguments. Where there are results, all of them have to come all the same.
 *
 * Each run prints one line of JSON. Build: cc -O2 -Wall -o loadgen_jobs loadgen_jobs.c
 * A message id is the time of sending in ns, 16 hexadecimal digits, and a number.
 */
#include "loading.h"

#define MOST_PARTS 16
#define MOST_PIDS 16
struct part { const u8 *at; size_t size; };
struct conn { struct link link; int is_worker; };

static const char *o_proto = "emqp", *o_host = "127.0.0.1", *o_work = "router", *o_path = "job", *o_callable = "noop";
static int o_port, o_window = 64, o_credits = 64, pids[MOST_PIDS], n_pids;
static double o_warm = 1, o_secs = 5, o_rate, o_patience = 60;
static int gives_results, counts_results = 1, has_worker, measuring, udp = -1, udp_port;
static struct conn client, worker;
static u64 sent, done, results, bad, numbers;

/* ----------------------------------------------------------------------- ZMTP */
static void zmtp_put(struct conn *c, int more, const void *what, size_t size)
{
    u8 *p = room(&c->link, size + 9);
    if (size > 255) {
        *p++ = 2 | more;
        for (int shift = 56; shift >= 0; shift -= 8) *p++ = (u64)size >> shift;
    } else { *p++ = more; *p++ = size; }
    memcpy(p, what, size);
    appended(&c->link, p + size);
}
static void need(struct link *l, size_t n) { while (l->ilen < n) fill(l); }
static void zmtp_open(struct conn *c, const char *identity, int port)
{
    u8 greeting[64] = { 0xff, [9] = 0x7f, [10] = 3 }, ready[128], *p = ready + 2; size_t n = strlen(identity);
    memcpy(greeting + 12, "NULL", 4);
    static const char properties[] = "\5READY\13Socket-Type\0\0\0\6DEALER\10Identity\0\0\0";
    memcpy(p, properties, sizeof properties - 1); p += sizeof properties - 1;
    *p++ = n; memcpy(p, identity, n); p += n;
    ready[0] = 4; ready[1] = p - ready - 2;
    link_to(&c->link, o_host, port);
    memcpy(room(&c->link, 64), greeting, 64); c->link.olen += 64;
    memcpy(room(&c->link, 128), ready, p - ready); c->link.olen += p - ready;
    send_out(&c->link, c);
    need(&c->link, 66);
    if (c->link.in[10] < 3) die("ZMTP %d is too old", c->link.in[10]);
    size_t whole = 66 + c->link.in[65];
    need(&c->link, whole);
    used_up(&c->link, whole);
}
/* The parts of one message; returns its octets, or 0 if it is not whole. */
static size_t zmtp_message(const u8 *p, size_t n, struct part *parts, int *count)
{
    size_t at = 0; *count = 0;
    for (int more = 1; more;) {
        if (n < at + 2) return 0;
        int flags = p[at]; u64 size = p[at + 1]; size_t head = 2;
        if (flags & 2) {
            if (n < at + 9) return 0;
            size = 0; for (int i = 1; i < 9; i++) size = size << 8 | p[at + i];
            head = 9;
        }
        if (n < at + head + size) return 0;
        if (flags & 4) return at + head + size;        /* a command of ZMTP */
        if (*count < MOST_PARTS) parts[(*count)++] = (struct part){ p + at + head, size };
        at += head + size; more = flags & 1;
    }
    return at;
}

/* ----------------------------------------------------------------------- eMQP */
static void say(struct conn *c, const char *word, const char *id, int n, const struct part *fields)
{
    zmtp_put(c, 1, "", 0); zmtp_put(c, 1, "eMQP/1.0", 8); zmtp_put(c, 1, word, strlen(word));
    zmtp_put(c, n > 0, id, strlen(id));
    for (int i = 0; i < n; i++) zmtp_put(c, i < n - 1, fields[i].at, fields[i].size);
}
static struct part text(const char *s) { return (struct part){ (const u8 *)s, strlen(s) }; }
static int is(struct part p, const char *s) { return p.size == strlen(s) && !memcmp(p.at, s, p.size); }
static const char *new_id(void)
{
    static char id[64];
    snprintf(id, sizeof id, "%016llx-%llu", (unsigned long long)now_ns(), (unsigned long long)++numbers);
    return id;
}
static void hand_in(void)
{
    char body[512]; const char *id = new_id();
    snprintf(body, sizeof body, "[\"run\", {\"callable\": \"%s\", \"path\": \"%s\", \"args\": [\"%s\", %d], \"kwargs\": {}, "
             "\"class_args\": [], \"class_kwargs\": {}}]", o_callable, o_path, id, udp_port);
    say(&client, "REQUEST", id, 3, (struct part[]){ text("default"), text("reply-requested"), text(body) });
    sent++;
}
static void is_over(struct part id)
{
    char began[17] = "";
    if (id.size < 16) { bad++; return; }
    memcpy(began, id.at, 16);
    done++;
    if (measuring) sample(strtoull(began, NULL, 16));
}
static void to_client(struct part *parts, int n)
{
    if (!gives_results || n < 6 || !is(parts[2], "REPLY")) return;
    if (memmem(parts[4].at, parts[4].size, "\"error\"", 7)) bad++;
    results++;
    if (counts_results) is_over(parts[5]);
}
static void to_worker(struct part *parts, int n)
{
    if (n < 7 || !is(parts[2], "REQUEST")) return;
    say(&worker, "REPLY", new_id(), 2, (struct part[]){ text("{\"value\": true}"), parts[3] });
    say(&worker, "READY", new_id(), 0, NULL);
    if (!counts_results) is_over(parts[3]);
}

/* -------------------------------------------------------------------- running */
static void read_all(struct conn *c)
{
    struct part parts[MOST_PARTS]; int n; size_t at = 0, used;
    if (!fill(&c->link)) return;
    while ((used = zmtp_message(c->link.in + at, c->link.ilen - at, parts, &n))) {
        if (n >= 4) (c->is_worker ? to_worker : to_client)(parts, n);
        at += used;
    }
    used_up(&c->link, at);
}
static void read_datagrams(void)
{
    char id[64]; ssize_t n;
    while ((n = recv(udp, id, sizeof id, MSG_DONTWAIT)) > 0)
        if (!counts_results) is_over((struct part){ (u8 *)id, n });
}
static void turn(int wait_ms)
{
    static double next_beat;
    struct epoll_event e[8];
    int n = epoll_wait(epfd, e, 8, wait_ms);
    for (int i = 0; i < n; i++) {
        if (e[i].data.ptr == &udp) read_datagrams();
        else if (e[i].events & EPOLLIN) read_all(e[i].data.ptr);
    }
    if (has_worker && now() >= next_beat) {
        next_beat = now() + 2;
        say(&worker, "HEARTBEAT", new_id(), 1, (struct part[]){ text("0") });
    }
    if (has_worker) send_out(&worker.link, &worker);
    send_out(&client.link, &client);
}
static void fill_window(void) { while (sent - done < (u64)o_window) hand_in(); send_out(&client.link, &client); }
static int drained(double seconds)                     /* until nothing has come for so long */
{
    u64 seen = done + results, due = gives_results ? 2 * sent : sent;
    for (double end = now() + seconds; done + results < due && now() < end; turn(10))
        if (done + results != seen) { seen = done + results; end = now() + seconds; }
    return done + results >= due;
}
static double cpu_beside(void)                         /* of all but the broker */
{
    double sum = 0;
    for (int i = 1; i < n_pids; i++) sum += of_all(pids[i], cpu_of);
    return sum;
}
static void open_all(void)
{
    struct part parts[MOST_PARTS]; int n; char identity[64];
    struct sockaddr_in a = { .sin_family = AF_INET }; socklen_t size = sizeof a;
    udp = socket(AF_INET, SOCK_DGRAM, 0);
    inet_pton(AF_INET, o_host, &a.sin_addr);
    if (bind(udp, (struct sockaddr *)&a, size) || getsockname(udp, (struct sockaddr *)&a, &size)) die("UDP: %s", strerror(errno));
    udp_port = ntohs(a.sin_port);
    snprintf(identity, sizeof identity, "client-%d", getpid());
    zmtp_open(&client, identity, o_port);
    watch(&client.link, &client);
    struct epoll_event e = { .events = EPOLLIN, .data.ptr = &udp };
    epoll_ctl(epfd, EPOLL_CTL_ADD, udp, &e);
    if (!has_worker) return;
    worker.is_worker = 1;
    snprintf(identity, sizeof identity, "worker-%d", getpid());
    zmtp_open(&worker, identity, o_port + 1);
    say(&worker, "INFORM", new_id(), 2, (struct part[]){ text("[[10, \"default\"]]"), text("worker") });
    send_out(&worker.link, &worker);
    for (size_t used;;) {
        fill(&worker.link);
        used = zmtp_message(worker.link.in, worker.link.ilen, parts, &n);
        if (used && n >= 3 && is(parts[2], "ACK")) { used_up(&worker.link, used); break; }
        if (used) used_up(&worker.link, used);
    }
    watch(&worker.link, &worker);
    for (int i = 0; i < o_credits; i++) say(&worker, "READY", new_id(), 0, NULL);
    send_out(&worker.link, &worker);
    for (double end = now() + 0.3; now() < end;) turn(10);
}

int main(int argc, char **argv)
{
    static const struct option names[] = {
        { "proto", 1, 0, 'p' }, { "host", 1, 0, 'h' }, { "port", 1, 0, 'P' }, { "workload", 1, 0, 'w' }, { "pid", 1, 0, 'i' },
        { "window", 1, 0, 'W' }, { "credits", 1, 0, 'c' }, { "rate", 1, 0, 'r' }, { "completions", 0, 0, 'C' }, { "path", 1, 0, 'm' }, { "callable", 1, 0, 'f' },
        { "warm", 1, 0, 'a' }, { "secs", 1, 0, 'S' }, { "setup-timeout", 1, 0, 'x' }, { 0 } };
    for (int o; (o = getopt_long(argc, argv, "", names, NULL)) != -1;) switch (o) {
        case 'p': o_proto = optarg; break; case 'h': o_host = optarg; break; case 'P': o_port = atoi(optarg); break;
        case 'w': o_work = optarg; break; case 'i': if (n_pids < MOST_PIDS) pids[n_pids++] = atoi(optarg); break;
        case 'W': o_window = atoi(optarg); break; case 'c': o_credits = atoi(optarg); break; case 'r': o_rate = atof(optarg); break;
        case 'C': counts_results = 0; break;
        case 'm': o_path = optarg; break; case 'f': o_callable = optarg; break; case 'a': o_warm = atof(optarg); break;
        case 'S': o_secs = atof(optarg); break; case 'x': o_patience = atof(optarg); break;
        default: die("usage: --proto emqp|eventmq --port N --workload router|jobs [--pid N]... [--window N | --rate N] [--credits N]\n"
            "  [--completions] [--path MODULE] [--callable FUNCTION] [--warm S] [--secs S]");
    }
    gives_results = !strcmp(o_proto, "emqp"); counts_results &= gives_results; has_worker = !strcmp(o_work, "router");
    if (!has_worker && strcmp(o_work, "jobs")) die("no such workload: %s", o_work);
    if (!n_pids) n_pids = 1;
    open_all();
    hand_in();                                         /* whoever works may have to start first */
    if (!drained(o_patience)) die("nobody has done the first job within %.0f s", o_patience);

    double from = now() + o_warm, until = from + o_secs, next = now(); u64 before = 0; struct spent spent; double beside = 0;
    for (double t; (t = now()) < until;) {
        if (!measuring && t >= from) { measuring = 1; before = done; look(&spent, pids[0]); beside = cpu_beside(); }
        if (!o_rate) fill_window();
        for (; o_rate && next <= t; next += 1 / o_rate) hand_in();
        turn(o_rate ? 1 : 10);
    }
    u64 jobs = done - before;
    since(&spent, pids[0]); beside = cpu_beside() - beside;
    if (!o_rate) measuring = 0;                        /* at a rate, what is under way counts too */
    drained(5);
    sort_samples();
    printf("{\"proto\":\"%s\",\"workload\":\"%s\",\"window\":%d,\"credits\":%d,\"secs\":%.3f,\"msgs_s\":%.0f,\"lost\":%lld,\"bad\":%llu,"
           "\"rtt_p50\":%.1f,\"rtt_p99\":%.1f,\"lg_cpu\":%.3f,\"broker_cpu_s\":%.2f,\"broker_us_msg\":%.2f,\"other_cpu\":%.3f}\n",
           o_proto, o_work, o_window, o_credits, spent.at, jobs / spent.at, (long long)(sent - done + (gives_results ? sent - results : 0)), (unsigned long long)bad,
           percentile(.5), percentile(.99), spent.self / spent.at, spent.broker, jobs ? spent.broker / jobs * 1e6 : 0,
           (spent.machine - spent.self - spent.broker - beside) / spent.at);
    return 0;
}
