/* loadgen_websocket.c - calls and topics over WebSocket, for UMQ and for WAMP (JSON).
 *
 * One process, one thread, epoll. It is caller and callee, publisher and subscriber at once; never more than a window of
 * calls or publications is unanswered. Each run prints one line of JSON.
 * Build: cc -O2 -Wall -o loadgen_websocket loadgen_websocket.c
 *
 * A payload is text: ten digits of a sequence, twenty of a time (ns), and filler.
 */
#include "loading.h"

/* ------------------------------------------------------------------ options */
static const char *o_proto = "umq", *o_host = "127.0.0.1", *o_work = "call", *o_path = "/umq";
static int o_port, o_pid, o_callers = 1, o_subs = 50, o_conns = 5000, o_payload = 128, o_window = 20;
static double o_warm = 1, o_secs = 5, o_rate = 500;
static int is_wamp;

/* ------------------------------------------------------------------ helpers */
static char *base36(u64 n, char *end)            /* writes backwards from end, returns the start */
{
    *--end = 0;
    if (!n) *--end = '0';
    for (; n; n /= 36) *--end = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[n % 36];
    return end;
}
static u64 number(const char *p, int base)       /* up to the first other character */
{
    return strtoull(p, NULL, base);
}

/* -------------------------------------------------------------- connections */
enum role { CALLEE, CALLER, PUBLISHER, SUBSCRIBER };
struct conn {
    struct link link;
    enum role role;
    u64 next_id, unanswered, expected;           /* expected: the next sequence of a subscriber */
};
static struct conn *conns;
static int n_conns;

/* What is counted; `measuring` is on between the warm-up and the end. */
static int measuring, publishing;
static u64 answered, delivered, lost, disorder, bad, sequence;
/* Append one text frame; clients mask, and a mask of zeros leaves the text as it is. */
static void text(struct conn *c, const char *f, ...)
{
    char small[4096]; va_list a;
    va_start(a, f); int n = vsnprintf(small, sizeof small, f, a); va_end(a);
    if (n >= (int)sizeof small) die("a message is too long");
    u8 *p = room(&c->link, n + 16);
    *p++ = 0x81;
    if (n < 126) *p++ = 0x80 | n;
    else { *p++ = 0x80 | 126; *p++ = n >> 8; *p++ = n; }
    memset(p, 0, 4); p += 4;
    memcpy(p, small, n);
    appended(&c->link, p + n);
}

/* Returns the next whole frame's text, ended by 0 in place, and the octets used; NULL if there is none yet. */
static char *next_frame(struct conn *c, size_t at, size_t *used)
{
    u8 *p = c->link.in + at; size_t n = c->link.ilen - at, head = 2, len;
    if (n < 2) return NULL;
    len = p[1] & 127;
    if (len == 126) { if (n < 4) return NULL; len = p[2] << 8 | p[3]; head = 4; }
    else if (len == 127) { if (n < 10) return NULL; len = 0; for (int i = 2; i < 10; i++) len = len << 8 | p[i]; head = 10; }
    if (n < head + len) return NULL;
    *used = head + len;
    if ((p[0] & 15) == 8) die("the broker closes: %.*s", (int)(len > 2 ? len - 2 : 0), (char *)p + head + 2);
    if ((p[0] & 15) != 1) return "";             /* a ping; unanswered, which a short run may */
    static char whole[1 << 20];
    if (len >= sizeof whole) die("a message is too long");
    memcpy(whole, p + head, len); whole[len] = 0;
    return whole;
}

/* ----------------------------------------------------------------- protocols */
static char payload[4096];
static const char *stamped(u64 seq)
{
    char head[31]; snprintf(head, sizeof head, "%010llu%020llu", (unsigned long long)seq, (unsigned long long)now_ns());
    memcpy(payload, head, 30);
    return payload;
}
static u64 time_in(const char *p)
{
    char t[21]; memcpy(t, p + 10, 20); t[20] = 0;
    return strtoull(t, NULL, 10);
}

static void ask(struct conn *c, const char *umq, const char *wamp, ...)   /* a request with the next id */
{
    char id[24], body[2048]; va_list a;
    va_start(a, wamp); vsnprintf(body, sizeof body, is_wamp ? wamp : umq, a); va_end(a);
    u64 n = ++c->next_id;
    if (is_wamp) { char *comma = strchr(body, ','); text(c, "%.*s,%llu%s", (int)(comma - body), body, (unsigned long long)n, comma); }
    else text(c, "C%s:%s", base36(n, id + sizeof id), body);
    c->unanswered++;
}
static void call(struct conn *c)
{
    ask(c, "[\"bench/echo\",\"%s\"]", "[48,{},\"bench.echo\",[\"%s\"]]", stamped(++sequence));
}
static void publish(struct conn *c, const char *topic, u64 seq)
{
    ask(c, "[\"publish\",\"%s\",\"%s\"]", "[16,{\"acknowledge\":true},\"%s\",[\"%s\"]]", topic, stamped(seq));
}

static void got_payload(struct conn *c, const char *p)
{
    delivered++;
    if (measuring) sample(time_in(p));
    if (o_work[0] == 'i') return;
    char s[11]; memcpy(s, p, 10); s[10] = 0;
    u64 seq = strtoull(s, NULL, 10);
    if (seq > c->expected) lost += seq - c->expected;
    if (seq < c->expected) disorder++;
    c->expected = seq + 1;
}
static void got_answer(struct conn *c, const char *p)
{
    c->unanswered--; answered++;
    if (p && measuring) sample(time_in(p));
}
static void got_umq(struct conn *c, char *m)
{
    char *colon = strchr(m, ':'), *p;
    if (!colon) die("no UMQ: %s", m);
    switch (*m) {
    case 'R': got_answer(c, c->role == CALLER && colon[1] == '"' ? colon + 2 : NULL); return;
    case 'T': if ((p = strstr(colon, "\"text\":\""))) { got_payload(c, p + 8); return; } break;
    case 'C':
        if ((p = strchr(colon, ','))) {
            p[strlen(p) - 1] = 0;                /* the bracket */
            *colon = 0; text(c, "R%s:%s", m + 1, p + 1);
            return;
        }
    }
    if (bad++ < 3) fprintf(stderr, "unexpected: %.200s\n", m);
}
static void got_wamp(struct conn *c, char *m)
{
    int type = atoi(m + 1); char *args = strstr(m, "[\"");
    switch (type) {
    case 50: if (args) { got_answer(c, args + 2); return; } break;
    case 17: got_answer(c, NULL); return;
    case 36: if (args) { got_payload(c, args + 2); return; } break;
    case 68: if (args) { text(c, "[70,%llu,{},%s", (unsigned long long)number(m + 4, 10), args); return; } break;
    }
    if (bad++ < 3) fprintf(stderr, "unexpected: %.200s\n", m);
}

/* -------------------------------------------------------------------- set-up */
static char *answer(struct conn *c, size_t *used)      /* waits for a frame */
{
    char *m;
    while (!(m = next_frame(c, 0, used))) fill(&c->link);
    return m;
}
static void settle(struct conn *c)                     /* waits for the answer to the last request */
{
    size_t used; send_out(&c->link, c);
    char *m = answer(c, &used);
    if (is_wamp ? atoi(m + 1) == 8 : *m != 'R') die("refused: %s", m);
    used_up(&c->link, used);
    c->unanswered = 0;
}
static struct conn *connected(enum role role)
{
    struct conn *c = &conns[n_conns];
    n_conns++;
    c->role = role; c->expected = 1;
    link_to(&c->link, o_host, o_port);
    char head[1024];
    int n = snprintf(head, sizeof head, "GET %s HTTP/1.1\r\nHost: %s:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: %s\r\n\r\n",
        o_path, o_host, o_port, is_wamp ? "wamp.2.json" : "umq");
    if (send(c->link.fd, head, n, 0) != n) die("send");
    char *end;
    do { fill(&c->link); c->link.in[c->link.ilen] = 0; } while (!(end = strstr((char *)c->link.in, "\r\n\r\n")));
    if (strncmp((char *)c->link.in, "HTTP/1.1 101", 12)) die("no WebSocket: %s", c->link.in);
    used_up(&c->link, (u8 *)end + 4 - c->link.in);
    if (is_wamp) text(c, "[1,\"realm1\",{\"roles\":{\"caller\":{},\"callee\":{},\"publisher\":{},\"subscriber\":{}}}]");
    else text(c, "H1:");
    size_t used; send_out(&c->link, c);
    char *m = answer(c, &used);
    if (is_wamp ? atoi(m + 1) != 2 : *m != 'W') die("no welcome: %s", m);
    used_up(&c->link, used);
    return c;
}
static void subscribe(struct conn *c, const char *topic)
{
    ask(c, "[\"subscribe\",\"%s\",\"A\"]", "[32,{},\"%s\"]", topic);
    settle(c);
}
/* ------------------------------------------------------------------- running */
static const char *topic_name(void) { return is_wamp ? "bench.topic" : "bench/topic"; }
static void refill(struct conn *c)
{
    if (!publishing) return;
    if (c->role == CALLER) while (c->unanswered < (u64)o_window) call(c);
    if (c->role == PUBLISHER) while (c->unanswered < (u64)o_window) publish(c, topic_name(), ++sequence);
}
static void read_all(struct conn *c)
{
    if (!fill(&c->link)) return;
    size_t at = 0, used; char *m;
    while ((m = next_frame(c, at, &used))) {
        at += used;
        if (*m) (is_wamp ? got_wamp : got_umq)(c, m);
    }
    used_up(&c->link, at);
}
static void turn(int wait_ms, int paced)
{
    struct epoll_event e[256];
    int n = epoll_wait(epfd, e, 256, wait_ms);
    for (int i = 0; i < n; i++) {
        struct conn *c = e[i].data.ptr;
        if (e[i].events & EPOLLIN) read_all(c);
        if (!paced) refill(c);
        send_out(&c->link, c);
    }
}
int main(int argc, char **argv)
{
    static const struct option names[] = {
        { "proto", 1, 0, 'p' }, { "host", 1, 0, 'h' }, { "port", 1, 0, 'P' }, { "path", 1, 0, 'u' }, { "workload", 1, 0, 'w' },
        { "pid", 1, 0, 'i' }, { "callers", 1, 0, 'c' }, { "subs", 1, 0, 's' }, { "conns", 1, 0, 'n' }, { "payload", 1, 0, 'l' },
        { "window", 1, 0, 'W' }, { "warm", 1, 0, 'a' }, { "secs", 1, 0, 'S' }, { "rate", 1, 0, 'r' }, { "setup-timeout", 1, 0, 'x' }, { 0 } };
    for (int o; (o = getopt_long(argc, argv, "", names, NULL)) != -1;) switch (o) {
        case 'p': o_proto = optarg; break; case 'h': o_host = optarg; break; case 'P': o_port = atoi(optarg); break;
        case 'u': o_path = optarg; break; case 'w': o_work = optarg; break; case 'i': o_pid = atoi(optarg); break;
        case 'c': o_callers = atoi(optarg); break; case 's': o_subs = atoi(optarg); break; case 'n': o_conns = atoi(optarg); break;
        case 'l': o_payload = atoi(optarg); break; case 'W': o_window = atoi(optarg); break; case 'a': o_warm = atof(optarg); break;
        case 'S': o_secs = atof(optarg); break; case 'r': o_rate = atof(optarg); break; case 'x': break;
        default: die("usage: --proto umq|wamp --port N [--path P] --workload call|fanout|rtt|idle [--pid N] [--callers N] [--subs N] [--conns N]\n"
            "  [--payload N] [--window N] [--warm S] [--secs S] [--rate N]");
    }
    is_wamp = !strcmp(o_proto, "wamp");
    if (o_payload < 30 || o_payload > 1500) die("a payload has 30 to 1500 octets");
    memset(payload, 'x', o_payload); payload[o_payload] = 0;
    int is_call = !strcmp(o_work, "call"), is_fanout = !strcmp(o_work, "fanout"), is_rtt = !strcmp(o_work, "rtt"), is_idle = !strcmp(o_work, "idle");
    if (!(is_call || is_fanout || is_rtt || is_idle)) die("no such workload: %s", o_work);
    if (!(conns = calloc(o_conns + o_callers + o_subs + 10, sizeof *conns))) die("out of memory");

    double before = 0, each = 0; struct conn *source = NULL;
    if (is_call || is_rtt) {
        struct conn *callee = connected(CALLEE);
        ask(callee, "[\"serve\",\"bench/echo\"]", "[64,{},\"bench.echo\"]");
        settle(callee);
        for (int i = 0; i < (is_rtt ? 1 : o_callers); i++) source = connected(CALLER);
    } else if (is_fanout) {
        for (int i = 0; i < o_subs; i++) subscribe(connected(SUBSCRIBER), topic_name());
        source = connected(PUBLISHER);
    } else {
        source = connected(PUBLISHER);
        before = of_all(o_pid, rss_of);
        char topic[64];
        for (int i = 0; i < o_conns; i++) {
            snprintf(topic, sizeof topic, is_wamp ? "bench.idle.%d" : "bench/idle/%d", i);
            subscribe(connected(SUBSCRIBER), topic);
        }
        each = (of_all(o_pid, rss_of) - before) / o_conns;
    }
    for (int i = 0; i < n_conns; i++) watch(&conns[i].link, &conns[i]);

    int paced = is_rtt || is_idle; publishing = !paced;
    for (int i = 0; i < n_conns; i++) { refill(&conns[i]); send_out(&conns[i].link, &conns[i]); }
    double start = now(), from = start + o_warm, until = from + o_secs, due = start;
    u64 a0 = 0, d0 = 0; struct spent spent;
    for (double t; (t = now()) < until;) {
        if (!measuring && t >= from) {
            measuring = 1; a0 = answered; d0 = delivered;
            look(&spent, o_pid);
        }
        if (paced && t >= due) {
            char topic[64];
            snprintf(topic, sizeof topic, is_wamp ? "bench.idle.%d" : "bench/idle/%d", (int)(sequence % o_conns));
            if (is_rtt) call(source); else publish(source, topic, ++sequence);
            send_out(&source->link, source);
            due += 1 / o_rate;
        }
        turn(paced ? 0 : 10, paced);
    }
    since(&spent, o_pid);
    u64 calls = answered - a0, msgs = delivered - d0;
    measuring = publishing = 0;
    for (double end = now() + 5; now() < end;) {      /* nothing that was asked may stay unanswered */
        u64 open = 0; for (int i = 0; i < n_conns; i++) open += conns[i].unanswered;
        if (!open) break;
        turn(10, 1);
    }
    for (int i = 0; i < n_conns; i++) {
        if (conns[i].role == SUBSCRIBER && is_fanout && conns[i].expected <= sequence) {
            for (double end = now() + 2; conns[i].expected <= sequence && now() < end;) turn(10, 1);
            lost += sequence + 1 - conns[i].expected;
        }
        lost += conns[i].role == SUBSCRIBER ? 0 : conns[i].unanswered;
    }
    sort_samples();
    printf("{\"proto\":\"%s\",\"workload\":\"%s\",\"payload\":%d,\"secs\":%.3f,\"msgs_s\":%.0f,\"lost\":%llu,\"disorder\":%llu,\"bad\":%llu,"
           "\"rtt_p50\":%.1f,\"rtt_p99\":%.1f,\"rtt_max\":%.1f,\"lg_cpu\":%.3f,\"broker_cpu_s\":%.2f,\"other_cpu\":%.3f",
           o_proto, o_work, o_payload, spent.at, (is_fanout || is_idle ? msgs : calls) / spent.at, (unsigned long long)lost, (unsigned long long)disorder,
           (unsigned long long)bad, percentile(.5), percentile(.99), percentile(1), spent.self / spent.at, spent.broker,
           (spent.machine - spent.self - spent.broker) / spent.at);
    if (is_idle) printf(",\"bytes_each\":%.0f", each);
    puts("}");
    return 0;
}
