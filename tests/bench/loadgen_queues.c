/* loadgen_queues.c - messages through a queue, or to many subscribers, for MicroMsg2 and (queues) for AMQP 0-9-1.
 *
 * workload queue   one producer, one consumer, one queue; at most --window messages are unacknowledged on either side, and
 *                  at most --backlog under way; the consumer acknowledges half a window at a time
 * workload fanout  one publisher, --subs subscribers, one topic; acknowledged alike, or --plain: not at all
 *
 * Each run prints one line of JSON. Build: cc -O2 -Wall -o loadgen_queues loadgen_queues.c
 * A payload is a sequence (u64), a time in ns (u64), both in host order, and filler.
 */
#include "loading.h"

static const char *o_proto = "micromsg2", *o_host = "127.0.0.1", *o_work = "queue", *o_queue = "bench";
static int o_port, o_pid, o_subs = 50, o_payload = 128, o_window = 100, o_backlog = 2000, o_durable, o_plain;
static double o_warm = 1, o_secs = 5;
static int is_amqp, is_fanout;

struct conn {
    struct link link;
    int is_source;
    u64 sent, acked;              /* of a source: messages */
    u64 received, told, expected; /* of a receiver: messages, those acknowledged, and the next sequence */
    u64 tag;                      /* AMQP: of the message that comes */
    int body_left;
};
static struct conn *conns, *source;
static int n_conns, measuring, sending;
static u64 delivered, lost, disorder, bad;
static u8 filler[1 << 16];

static u8 *put16(u8 *p, u32 v) { p[0] = v >> 8; p[1] = v; return p + 2; }
static u8 *put32(u8 *p, u32 v) { p[0] = v >> 24; p[1] = v >> 16; p[2] = v >> 8; p[3] = v; return p + 4; }
static u8 *put64(u8 *p, u64 v) { return put32(put32(p, v >> 32), v); }
static u32 get16(const u8 *p) { return (u32)p[0] << 8 | p[1]; }
static u32 get32(const u8 *p) { return (u32)p[0] << 24 | (u32)p[1] << 16 | (u32)p[2] << 8 | p[3]; }
static u64 get64(const u8 *p) { return (u64)get32(p) << 32 | get32(p + 4); }
static u8 *put(u8 *p, const void *s, size_t n) { memcpy(p, s, n); return p + n; }
static u8 *puts8(u8 *p, const char *s) { *p++ = strlen(s); return put(p, s, strlen(s)); }
static u8 *put_payload(u8 *p, u64 sequence)
{
    u64 t = now_ns();
    memcpy(p, &sequence, 8); memcpy(p + 8, &t, 8); memcpy(p + 16, filler, o_payload - 16);
    return p + o_payload;
}

static void received(struct conn *c, const u8 *payload)
{
    u64 sequence, t; memcpy(&sequence, payload, 8); memcpy(&t, payload + 8, 8);
    c->received++; delivered++;
    if (measuring) sample(t);
    if (sequence > c->expected) lost += sequence - c->expected;
    if (sequence < c->expected) disorder++;
    c->expected = sequence + 1;
}

/* ------------------------------------------------------------------ MicroMsg2 */
static char mm_destination[64];
static void mm_hello(struct conn *c)
{
    u8 *p = room(&c->link, 512); char required[128]; int n;
    if (o_plain) n = snprintf(required, sizeof required, "%s", c->is_source ? "" : "pubsub");
    else n = snprintf(required, sizeof required, "batch-ack:max-count=%d%s", o_window, c->is_source ? "" : ";pubsub");
    *p++ = 1; *p++ = 0; *p++ = 0; p = puts8(p, "bench");
    p = put16(p, n); p = put(p, required, n); p = put16(p, 0);
    appended(&c->link, p);
}
static void mm_open(struct conn *c)                    /* the three steps, then what a receiver wants */
{
    mm_hello(c); send_out(&c->link, c);
    size_t need;
    for (;;) {
        u8 *p = c->link.in; size_t n = c->link.ilen;
        if (n && (p[0] & 4)) die("refused: %.*s", (int)(n > 2 ? n - 2 : 0), (char *)p + 2);
        if (n > 4 && n > (need = 4 + p[3] + 2) && n >= need + get16(p + need - 2) + 2) {
            need += get16(p + need - 2) + 2;
            if (n >= need + get16(p + need - 2)) { need += get16(p + need - 2); break; }
        }
        fill(&c->link);
    }
    used_up(&c->link, need);
    mm_hello(c);
    if (!c->is_source) {
        char command[128]; int n = snprintf(command, sizeof command, "subscribe;destination=%s", mm_destination);
        u8 *p = room(&c->link, 256);
        *p++ = 1; *p++ = n; p = put(p, command, n);
        appended(&c->link, p);
    }
    send_out(&c->link, c);
}
static void mm_send(struct conn *c)
{
    u8 *p = room(&c->link, o_payload + 512);
    int large = o_payload > 255;
    *p++ = large ? 8 : 0;
    p = put16(p, c->sent++ % 65535 + 1);
    p = puts8(p, mm_destination);
    p = put16(p, 0);
    if (large) p = put32(p, o_payload); else *p++ = o_payload;
    appended(&c->link, put_payload(p, c->sent));
}
static void mm_acknowledge(struct conn *c)
{
    u8 *p = room(&c->link, 8);
    *p++ = 2; *p++ = 1; *p++ = 2; p = put16(p, (c->received - 1) % 65535 + 1);
    appended(&c->link, p);
    c->told = c->received;
}
static size_t mm_frame(struct conn *c, const u8 *p, size_t n)
{
    if (n < 3) return 0;
    if (p[0] & 4) die("refused: %.*s", (int)(n - 2), (const char *)p + 2);
    if (p[0] & 2) {                                    /* extension: the other side acknowledges */
        size_t whole = 3 + p[2];
        if (n < whole) return 0;
        if (c->is_source) {
            u32 number = get16(p + 3);
            c->acked += (number + 65535 - (u32)(c->acked ? (c->acked - 1) % 65535 + 1 : 0)) % 65535;
        }
        return whole;
    }
    size_t at = 3; if (n < at + 1) return 0;
    at += 1 + p[3]; if (n < at + 2) return 0;
    at += 2 + get16(p + at);
    size_t size;
    if (p[0] & 8) { if (n < at + 4) return 0; size = get32(p + at); at += 4; }
    else { if (n < at + 1) return 0; size = p[at]; at += 1; }
    if (n < at + size) return 0;
    if (size != (size_t)o_payload) bad++;
    else received(c, p + at);
    return at + size;
}

/* ----------------------------------------------------------------------- AMQP */
static u8 *amqp_begin(u8 *p, int type, int channel) { *p++ = type; p = put16(p, channel); return p + 4; }
static u8 *amqp_end(u8 *begin, u8 *p) { put32(begin + 3, p - begin - 7); *p++ = 0xCE; return p; }
static void amqp_say(struct conn *c, int channel, u32 method, const u8 *arguments, size_t n)
{
    u8 *begin = room(&c->link, n + 64), *p = amqp_begin(begin, 1, channel);
    p = put32(p, method); p = put(p, arguments, n);
    appended(&c->link, amqp_end(begin, p));
}
static void amqp_await(struct conn *c, u32 method)
{
    send_out(&c->link, c);
    for (;;) {
        u8 *p = c->link.in; size_t n = c->link.ilen;
        if (n >= 8 && n >= get32(p + 3) + 8) {
            u32 said = get32(p + 7);
            if (said == (10 << 16 | 50) || said == (20 << 16 | 40)) die("refused: %.*s", p[13], (char *)p + 14);
            used_up(&c->link, get32(p + 3) + 8);
            if (said == method) return;
            die("%u.%u came, %u.%u was expected", said >> 16, said & 65535, method >> 16, method & 65535);
        }
        fill(&c->link);
    }
}
#define METHOD(class, method) ((u32)(class) << 16 | (method))
static void amqp_open(struct conn *c)
{
    u8 a[512], *p;
    appended(&c->link, put(room(&c->link, 8), "AMQP\0\0\11\1", 8));
    amqp_await(c, METHOD(10, 10));
    p = put32(a, 0); p = puts8(p, "PLAIN"); p = put32(p, 12); p = put(p, "\0guest\0guest", 12); p = puts8(p, "en_US");
    amqp_say(c, 0, METHOD(10, 11), a, p - a);
    amqp_await(c, METHOD(10, 30));
    p = put16(a, 16); p = put32(p, 131072); p = put16(p, 0);
    amqp_say(c, 0, METHOD(10, 31), a, p - a);
    p = puts8(a, "/"); *p++ = 0; *p++ = 0;
    amqp_say(c, 0, METHOD(10, 40), a, p - a);
    amqp_await(c, METHOD(10, 41));
    a[0] = 0; amqp_say(c, 1, METHOD(20, 10), a, 1);
    amqp_await(c, METHOD(20, 11));
    p = put16(a, 0); p = puts8(p, o_queue); *p++ = o_durable ? 2 : 0; p = put32(p, 0);
    amqp_say(c, 1, METHOD(50, 10), a, p - a);
    amqp_await(c, METHOD(50, 11));
    if (c->is_source) {
        a[0] = 0; amqp_say(c, 1, METHOD(85, 10), a, 1);
        amqp_await(c, METHOD(85, 11));
    } else {
        p = put32(a, 0); p = put16(p, o_window); *p++ = 0;
        amqp_say(c, 1, METHOD(60, 10), a, p - a);
        amqp_await(c, METHOD(60, 11));
        p = put16(a, 0); p = puts8(p, o_queue); p = puts8(p, "c"); *p++ = 0; p = put32(p, 0);
        amqp_say(c, 1, METHOD(60, 20), a, p - a);
        amqp_await(c, METHOD(60, 21));
    }
}
static void amqp_send(struct conn *c)
{
    u8 *begin = room(&c->link, o_payload + 512), *p = amqp_begin(begin, 1, 1);
    p = put32(p, METHOD(60, 40)); p = put16(p, 0); p = puts8(p, ""); p = puts8(p, o_queue); *p++ = 0;
    begin = amqp_end(begin, p);
    p = amqp_begin(begin, 2, 1);
    p = put16(p, 60); p = put16(p, 0); p = put64(p, o_payload); p = put16(p, 0x1000); *p++ = o_durable ? 2 : 1;
    begin = amqp_end(begin, p);
    p = put_payload(amqp_begin(begin, 3, 1), ++c->sent);
    appended(&c->link, amqp_end(begin, p));
}
static void amqp_acknowledge(struct conn *c)
{
    u8 a[9]; put64(a, c->tag); a[8] = 1;
    amqp_say(c, 1, METHOD(60, 80), a, 9);
    c->told = c->received;
}
static size_t amqp_frame(struct conn *c, const u8 *p, size_t n)
{
    if (n < 8 || n < get32(p + 3) + 8) return 0;
    size_t whole = get32(p + 3) + 8;
    if (p[0] == 1) {
        u32 method = get32(p + 7); const u8 *a = p + 11;
        if (method == METHOD(60, 60)) c->tag = get64(a + 1 + a[0]);
        else if (method == METHOD(60, 80)) { if (a[8] & 1) c->acked = get64(a); else c->acked++; }
        else die("%u.%u has come", method >> 16, method & 65535);
    } else if (p[0] == 3) {
        if (whole - 8 != (size_t)o_payload) bad++;
        else received(c, p + 7);
    }
    return whole;
}

/* -------------------------------------------------------------------- running */
static int may_send(void)
{
    if (!sending || source->sent - source->acked >= (u64)o_window) return 0;
    u64 slowest = UINT64_MAX;
    for (int i = 0; i < n_conns; i++) if (!conns[i].is_source && conns[i].received < slowest) slowest = conns[i].received;
    return source->sent - slowest < (u64)o_backlog;
}
static void send_on(void)
{
    if (!may_send()) return;
    /* one look at all receivers is good for as many as there is room for now */
    u64 slowest = UINT64_MAX;
    for (int i = 0; i < n_conns; i++) if (!conns[i].is_source && conns[i].received < slowest) slowest = conns[i].received;
    while (source->sent - source->acked < (u64)o_window && source->sent - slowest < (u64)o_backlog)
        is_amqp ? amqp_send(source) : mm_send(source);
    send_out(&source->link, source);
}
static void turn(int wait_ms)
{
    struct epoll_event e[256];
    int n = epoll_wait(epfd, e, 256, wait_ms);
    for (int i = 0; i < n; i++) {
        struct conn *c = e[i].data.ptr; size_t at = 0, used;
        if (e[i].events & EPOLLIN && fill(&c->link)) {
            while ((used = (is_amqp ? amqp_frame : mm_frame)(c, c->link.in + at, c->link.ilen - at))) {
                at += used;
                if (!c->is_source && !o_plain && (c->received - c->told) * 2 >= (u64)o_window) is_amqp ? amqp_acknowledge(c) : mm_acknowledge(c);
            }
            used_up(&c->link, at);
        }
        if (c != source) send_out(&c->link, c);
    }
    send_on();
    if (source->link.olen) send_out(&source->link, source);
}

int main(int argc, char **argv)
{
    static const struct option names[] = {
        { "proto", 1, 0, 'p' }, { "host", 1, 0, 'h' }, { "port", 1, 0, 'P' }, { "workload", 1, 0, 'w' }, { "pid", 1, 0, 'i' },
        { "subs", 1, 0, 's' }, { "payload", 1, 0, 'l' }, { "window", 1, 0, 'W' }, { "backlog", 1, 0, 'b' }, { "durable", 0, 0, 'd' }, { "plain", 0, 0, 'n' },
        { "queue", 1, 0, 'q' }, { "warm", 1, 0, 'a' }, { "secs", 1, 0, 'S' }, { "setup-timeout", 1, 0, 'x' }, { 0 } };
    for (int o; (o = getopt_long(argc, argv, "", names, NULL)) != -1;) switch (o) {
        case 'p': o_proto = optarg; break; case 'h': o_host = optarg; break; case 'P': o_port = atoi(optarg); break;
        case 'w': o_work = optarg; break; case 'i': o_pid = atoi(optarg); break; case 's': o_subs = atoi(optarg); break;
        case 'l': o_payload = atoi(optarg); break; case 'W': o_window = atoi(optarg); break; case 'b': o_backlog = atoi(optarg); break;
        case 'd': o_durable = 1; break; case 'n': o_plain = 1; o_window = 1 << 30; break; case 'q': o_queue = optarg; break; case 'a': o_warm = atof(optarg); break;
        case 'S': o_secs = atof(optarg); break; case 'x': break;
        default: die("usage: --proto micromsg2|amqp --port N --workload queue|fanout [--pid N] [--subs N] [--payload N] [--window N]\n"
            "  [--backlog N] [--durable] [--plain] [--queue NAME] [--warm S] [--secs S]");
    }
    is_amqp = !strcmp(o_proto, "amqp"); is_fanout = !strcmp(o_work, "fanout");
    if (is_fanout ? is_amqp : strcmp(o_work, "queue")) die("no such workload: %s", o_work);
    if (o_payload < 16 || o_payload > (int)sizeof filler) die("a payload has 16 to %zu octets", sizeof filler);
    memset(filler, 'x', sizeof filler);
    snprintf(mm_destination, sizeof mm_destination, "%s/%s", is_fanout ? "topic" : "queue", o_queue);
    n_conns = is_fanout ? o_subs + 1 : 2;
    if (!(conns = calloc(n_conns, sizeof *conns))) die("out of memory");
    source = &conns[n_conns - 1]; source->is_source = 1;
    for (int i = 0; i < n_conns; i++) {
        conns[i].expected = 1;
        link_to(&conns[i].link, o_host, o_port);
        (is_amqp ? amqp_open : mm_open)(&conns[i]);
    }
    usleep(300000);                                    /* MicroMsg2 has no answer to a subscription */
    for (int i = 0; i < n_conns; i++) watch(&conns[i].link, &conns[i]);

    sending = 1; send_on();
    double from = now() + o_warm, until = from + o_secs; u64 before = 0; struct spent spent;
    for (double t; (t = now()) < until;) {
        if (!measuring && t >= from) { measuring = 1; before = delivered; look(&spent, o_pid); }
        turn(10);
    }
    u64 messages = delivered - before;
    since(&spent, o_pid);
    measuring = sending = 0;
    u64 due = source->sent * (is_fanout ? o_subs : 1), seen = delivered;
    for (double end = now() + 5; (delivered < due || (!o_plain && source->acked < source->sent)) && now() < end; turn(10))
        if (delivered != seen) { seen = delivered; end = now() + 5; if (!is_fanout) continue; }
    for (int i = 0; i < n_conns; i++) if (!conns[i].is_source && !o_plain && conns[i].received > conns[i].told) {
        is_amqp ? amqp_acknowledge(&conns[i]) : mm_acknowledge(&conns[i]);
        send_out(&conns[i].link, &conns[i]);
    }
    lost += due - delivered + (o_plain ? 0 : source->sent - source->acked);
    usleep(100000);
    sort_samples();
    printf("{\"proto\":\"%s\",\"workload\":\"%s\",\"payload\":%d,\"window\":%d,\"durable\":%d,\"secs\":%.3f,\"msgs_s\":%.0f,\"lost\":%llu,"
           "\"disorder\":%llu,\"bad\":%llu,\"one_p50\":%.1f,\"one_p99\":%.1f,\"lg_cpu\":%.3f,\"broker_cpu_s\":%.2f,\"broker_us_msg\":%.2f,\"other_cpu\":%.3f}\n",
           o_proto, o_work, o_payload, o_window, o_durable, spent.at, messages / spent.at, (unsigned long long)lost, (unsigned long long)disorder,
           (unsigned long long)bad, percentile(.5), percentile(.99), spent.self / spent.at, spent.broker, messages ? spent.broker / messages * 1e6 : 0,
           (spent.machine - spent.self - spent.broker) / spent.at);
    return 0;
}
