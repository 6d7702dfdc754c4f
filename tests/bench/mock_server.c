// A chat server that costs almost nothing, so that a benchmark measures the client (Linux only).
//
//   cc -O2 -o build/mock_server mock_server.c
//   build/mock_server [--port 0] [--latency_ms 0] [--reply TEXT]      prints "listening on PORT", serves 127.0.0.1
//
//   POST .../chat/completions   reads the body, waits the latency, replies TEXT, or "The correct answer is (B)."
//   GET /v1/models              one model
//   GET /stats                  what was seen since the last reset
//   GET /timeline               requests in flight over time: means of slices of equal length since the first head
//   GET /reset                  forgets it
//   GET /config?latency_ms=50   sets the wait of requests that arrive from now on; to be set while none waits
//
// One thread, one edge-triggered epoll. A request head is peeked at, and then exactly its bytes are taken off the
// socket; so a body always lies untouched in the kernel, where MSG_TRUNC drops it without a copy. The latency is the
// same for every request, so the requests that wait form a queue, and one timer for the oldest of them is enough.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum phase { HEAD, SIZED_BODY, CHUNK_LINE, CHUNK_DATA, CHUNK_END, TRAILER, WAITING, REPLYING };
enum progress { GO_ON, BLOCKED, CLOSED };
enum { HEAD_LIMIT = 16384, LINE_LIMIT = 256, DROP_AT_ONCE = 8 << 20, SLICES = 240, REPLY_LIMIT = 4096 };

struct connection {
  int fd, keep_alive, is_chat, gone, reply_size, reply_sent;
  unsigned epoch;          // the reset after which it was counted; 0 once it is known to be a control connection
  enum phase phase;
  long left;               // body or chunk bytes still to be dropped
  uint64_t due_ns;
  struct connection *next; // in the queue of waiting requests
  char reply[REPLY_LIMIT];
};

static int epoll_fd, timer_fd;
static double latency_ms;
static const char *reply = "The correct answer is (B)."; // goes into JSON as it is
static struct connection *oldest, *newest; // the waiting requests
static unsigned epoch = 1;

static struct {
  uint64_t requests, replies, body_bytes, connections;
  uint64_t first_head_ns, last_reply_ns, changed_ns; // changed_ns: when at_server last changed
  double at_server_ns;                               // integral of at_server over time
  long at_server_peak;
} seen;
static long at_server; // requests received in full and not yet answered: those a real server could work on

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000ull + t.tv_nsec;
}

// The integral of at_server over each slice of time; slices double in length whenever the run outgrows them.
static struct {
  uint64_t slice_ns;
  double at_server_ns[SLICES];
} timeline;

static void double_slices(void) {
  double *slice = timeline.at_server_ns;
  for (int i = 0; i < SLICES; i++) slice[i] = i < SLICES / 2 ? slice[2 * i] + slice[2 * i + 1] : 0;
  timeline.slice_ns *= 2;
}

static void note_on_timeline(uint64_t from, uint64_t to) {
  from = from < seen.first_head_ns ? 0 : from - seen.first_head_ns;
  to -= seen.first_head_ns;
  while (to > SLICES * timeline.slice_ns) double_slices();
  while (from < to) {
    uint64_t slice = from / timeline.slice_ns, end = (slice + 1) * timeline.slice_ns;
    if (end > to) end = to;
    timeline.at_server_ns[slice] += (double)at_server * (end - from);
    from = end;
  }
}

static void change_at_server(int by) {
  uint64_t now = now_ns();
  seen.at_server_ns += (double)at_server * (now - seen.changed_ns);
  if (at_server && seen.first_head_ns) note_on_timeline(seen.changed_ns, now);
  seen.changed_ns = now;
  at_server += by;
  if (at_server > seen.at_server_peak) seen.at_server_peak = at_server;
}

static int starts(const char *path, const char *prefix) { return !strncmp(path, prefix, strlen(prefix)); }

// ---- replies -------------------------------------------------------------------------------------------------------

static void prepare_reply(struct connection *c, const char *status, const char *json) {
  c->reply_size = snprintf(c->reply, sizeof c->reply,
                           "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n%s\r\n%s", status,
                           strlen(json), c->keep_alive ? "" : "Connection: close\r\n", json);
  c->reply_sent = 0;
  c->phase = REPLYING;
}

static void prepare_no_such_path(struct connection *c) {
  prepare_reply(c, "404 Not Found", "{\"error\":{\"message\":\"no such path\",\"code\":404}}");
}

static void prepare_completion(struct connection *c) {
  char json[1024];
  snprintf(json, sizeof json,
           "{\"id\":\"chatcmpl-%llu\",\"object\":\"chat.completion\",\"created\":1700000000,\"model\":\"mock-vlm\","
           "\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"%s\","
           "\"reasoning_content\":null,\"tool_calls\":[]},\"logprobs\":null,\"finish_reason\":\"stop\"}],"
           "\"usage\":{\"prompt_tokens\":1024,\"completion_tokens\":8,\"total_tokens\":1032}}",
           (unsigned long long)seen.requests, reply);
  change_at_server(-1);
  prepare_reply(c, "200 OK", json);
}

static void prepare_stats(struct connection *c) {
  char json[1024];
  double span_ns = seen.last_reply_ns > seen.first_head_ns ? seen.last_reply_ns - seen.first_head_ns : 0;
  change_at_server(0);
  snprintf(json, sizeof json,
           "{\"requests\":%llu,\"replies\":%llu,\"body_bytes\":%llu,\"connections\":%llu,\"in_flight\":%ld,"
           "\"in_flight_peak\":%ld,\"in_flight_mean\":%.3f,\"span_s\":%.6f,\"since_first_s\":%.6f}",
           (unsigned long long)seen.requests, (unsigned long long)seen.replies, (unsigned long long)seen.body_bytes,
           (unsigned long long)seen.connections, at_server, seen.at_server_peak,
           span_ns > 0 ? seen.at_server_ns / span_ns : 0, span_ns / 1e9,
           seen.first_head_ns ? (now_ns() - seen.first_head_ns) / 1e9 : 0);
  prepare_reply(c, "200 OK", json);
}

static void prepare_timeline(struct connection *c) {
  char json[REPLY_LIMIT - 256];
  change_at_server(0);
  uint64_t end_ns = seen.last_reply_ns > seen.first_head_ns ? seen.last_reply_ns - seen.first_head_ns : 0;
  int size = sprintf(json, "{\"slice_s\":%.6f,\"in_flight\":[", timeline.slice_ns / 1e9);
  for (uint64_t i = 0; i < SLICES && i * timeline.slice_ns < end_ns; i++) // under ten characters each
    size += sprintf(json + size, "%s%.1f", i ? "," : "", timeline.at_server_ns[i] / timeline.slice_ns);
  sprintf(json + size, "]}");
  prepare_reply(c, "200 OK", json);
}

// The benchmark's own connections are not the client's, so they are taken out of the count again.
static void prepare_control(struct connection *c, const char *path) {
  const char *latency = strstr(path, "latency_ms=");
  if (c->epoch == epoch) seen.connections--;
  c->epoch = 0;
  if (starts(path, "/stats")) return prepare_stats(c);
  if (starts(path, "/timeline")) return prepare_timeline(c);
  if (starts(path, "/reset")) {
    memset(&seen, 0, sizeof seen);
    memset(timeline.at_server_ns, 0, sizeof timeline.at_server_ns);
    timeline.slice_ns = 1000000;
    seen.changed_ns = now_ns();
    epoch++;
  }
  if (latency) latency_ms = atof(latency + strlen("latency_ms="));
  prepare_reply(c, "200 OK", "{}");
}

static void prepare_get(struct connection *c, const char *path) {
  if (starts(path, "/stats") || starts(path, "/timeline") || starts(path, "/reset") || starts(path, "/config"))
    prepare_control(c, path);
  else if (starts(path, "/v1/models"))
    prepare_reply(c, "200 OK", "{\"object\":\"list\",\"data\":[{\"id\":\"mock-vlm\",\"object\":\"model\","
                               "\"created\":1700000000,\"owned_by\":\"mock\",\"max_model_len\":131072}]}");
  else prepare_no_such_path(c);
}

// ---- the queue of requests that wait for their latency ---------------------------------------------------------------

static void arm_timer(void) {
  struct itimerspec at = {0};
  if (oldest) at.it_value = (struct timespec){oldest->due_ns / 1000000000, oldest->due_ns % 1000000000};
  timerfd_settime(timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
}

static void body_received(struct connection *c) {
  if (!c->is_chat) return prepare_no_such_path(c);
  seen.requests++;
  change_at_server(+1);
  if (latency_ms <= 0) return prepare_completion(c);
  c->due_ns = now_ns() + (uint64_t)(latency_ms * 1e6);
  c->phase = WAITING;
  c->next = NULL;
  if (newest && oldest) newest->next = c;
  else oldest = c;
  newest = c;
  if (oldest == c) arm_timer();
}

// ---- reading: each step takes what it can off the socket and says how it went ----------------------------------------

static enum progress outcome(ssize_t got) {
  if (got > 0) return GO_ON;
  return got < 0 && (errno == EAGAIN || errno == EINTR) ? BLOCKED : CLOSED;
}

static enum progress drop_bytes(struct connection *c) {
  ssize_t got = recv(c->fd, NULL, c->left < DROP_AT_ONCE ? c->left : DROP_AT_ONCE, MSG_TRUNC);
  if (got <= 0) return outcome(got);
  c->left -= got;
  seen.body_bytes += got;
  if (c->left == 0 && c->phase == SIZED_BODY) body_received(c);
  else if (c->left == 0) c->phase = CHUNK_END;
  return GO_ON;
}

// Takes one line off the socket, its end included, into `line` without it; the next bytes stay where they are.
static enum progress take_line(struct connection *c, char line[LINE_LIMIT]) {
  ssize_t got = recv(c->fd, line, LINE_LIMIT - 1, MSG_PEEK);
  if (got <= 0) return outcome(got);
  char *end = memchr(line, '\n', got);
  if (!end) return got == LINE_LIMIT - 1 ? CLOSED : BLOCKED;
  recv(c->fd, NULL, end - line + 1, MSG_TRUNC);
  if (end > line && end[-1] == '\r') end--;
  *end = 0;
  return GO_ON;
}

static enum progress take_chunk_framing(struct connection *c) {
  char line[LINE_LIMIT];
  enum progress progress = take_line(c, line);
  if (progress != GO_ON) return progress;
  if (c->phase == CHUNK_LINE) {
    c->left = strtol(line, NULL, 16);
    c->phase = c->left ? CHUNK_DATA : TRAILER;
  } else if (c->phase == CHUNK_END) {
    c->phase = CHUNK_LINE;
  } else if (!line[0]) { // the empty line that ends the trailer
    body_received(c);
  }
  return GO_ON;
}

static int value_has(const char *line, const char *name, const char *word) {
  size_t length = strlen(name);
  if (strncasecmp(line, name, length)) return 0;
  const char *end = strchr(line, '\r'), *hit = strcasestr(line + length, word);
  return hit && (!end || hit < end);
}

static void read_head(struct connection *c, char *head) {
  char path[256] = "";
  int is_post = !strncmp(head, "POST ", 5), is_chunked = 0;
  sscanf(head, "%*s %255s", path);
  c->left = 0;
  c->keep_alive = 1;
  for (char *line = head; (line = strstr(line, "\r\n"));) {
    line += 2;
    if (!strncasecmp(line, "content-length:", 15)) c->left = atol(line + 15);
    if (value_has(line, "transfer-encoding:", "chunked")) is_chunked = 1;
    if (value_has(line, "connection:", "close")) c->keep_alive = 0;
  }
  if (!is_post) return prepare_get(c, path);
  if (!seen.first_head_ns) seen.first_head_ns = now_ns();
  c->is_chat = strstr(path, "/chat/completions") != NULL;
  c->phase = is_chunked ? CHUNK_LINE : SIZED_BODY;
  if (!is_chunked && c->left == 0) body_received(c);
}

static enum progress take_head(struct connection *c) {
  static char head[HEAD_LIMIT];
  ssize_t got = recv(c->fd, head, HEAD_LIMIT - 1, MSG_PEEK);
  if (got <= 0) return outcome(got);
  char *end = memmem(head, got, "\r\n\r\n", 4);
  if (!end) return got == HEAD_LIMIT - 1 ? CLOSED : BLOCKED;
  recv(c->fd, NULL, end - head + 4, MSG_TRUNC);
  *end = 0;
  read_head(c, head);
  return GO_ON;
}

static enum progress send_reply(struct connection *c) {
  ssize_t sent = send(c->fd, c->reply + c->reply_sent, c->reply_size - c->reply_sent, MSG_NOSIGNAL);
  if (sent <= 0) return outcome(sent);
  c->reply_sent += sent;
  if (c->reply_sent < c->reply_size) return GO_ON;
  if (c->is_chat) {
    seen.replies++;
    seen.last_reply_ns = now_ns();
  }
  c->is_chat = 0;
  c->phase = HEAD;
  return c->keep_alive ? GO_ON : CLOSED;
}

static enum progress step(struct connection *c) {
  switch (c->phase) {
    case HEAD: return take_head(c);
    case SIZED_BODY: case CHUNK_DATA: return drop_bytes(c);
    case CHUNK_LINE: case CHUNK_END: case TRAILER: return take_chunk_framing(c);
    case REPLYING: return send_reply(c);
    default: return BLOCKED; // WAITING: only the timer moves it
  }
}

// ---- connections -----------------------------------------------------------------------------------------------------

static void close_connection(struct connection *c) {
  close(c->fd);
  if (c->phase == WAITING) c->gone = 1; // freed when the timer takes it off the queue
  else free(c);
}

static void advance(struct connection *c) {
  enum progress progress;
  do progress = step(c);
  while (progress == GO_ON);
  if (progress == CLOSED) close_connection(c);
}

static void answer_due(void) {
  uint64_t fired, now = now_ns();
  if (read(timer_fd, &fired, sizeof fired) < 0) return;
  while (oldest && oldest->due_ns <= now) {
    struct connection *c = oldest;
    oldest = c->next;
    prepare_completion(c);
    if (c->gone) free(c);
    else advance(c);
  }
  arm_timer();
}

static void accept_all(int listener) {
  int fd, one = 1;
  while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
    struct connection *c = calloc(1, sizeof *c);
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = c};
    c->fd = fd;
    c->epoch = epoch;
    seen.connections++;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
  }
}

static int listen_on(int port) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), one = 1;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(fd, (struct sockaddr *)&address, size) || listen(fd, 4096)) {
    perror("mock_server");
    exit(1);
  }
  getsockname(fd, (struct sockaddr *)&address, &size);
  printf("listening on %d\n", ntohs(address.sin_port));
  fflush(stdout);
  return fd;
}

static void watch(int *fd) {
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = fd};
  epoll_ctl(epoll_fd, EPOLL_CTL_ADD, *fd, &event);
}

static void serve(int *listener) {
  struct epoll_event events[256];
  for (;;) {
    int count = epoll_wait(epoll_fd, events, 256, -1);
    int due = 0;
    for (int i = 0; i < count; i++) {
      struct connection *c = events[i].data.ptr;
      if (events[i].data.ptr == listener) accept_all(*listener);
      else if (events[i].data.ptr == &timer_fd) due = 1;
      else if (c->phase != WAITING) advance(c);
      else if (events[i].events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) close_connection(c);
    }
    if (due) answer_due(); // last, since it may free connections that have an event in this batch
  }
}

int main(int count, char **arguments) {
  int port = 0;
  for (int i = 1; i + 1 < count; i += 2) {
    if (!strcmp(arguments[i], "--port")) port = atoi(arguments[i + 1]);
    if (!strcmp(arguments[i], "--latency_ms")) latency_ms = atof(arguments[i + 1]);
    if (!strcmp(arguments[i], "--reply")) reply = arguments[i + 1];
  }
  prctl(PR_SET_PDEATHSIG, SIGTERM); // never outlive the benchmark
  epoll_fd = epoll_create1(0);
  timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
  int listener = listen_on(port);
  watch(&listener);
  watch(&timer_fd);
  timeline.slice_ns = 1000000;
  seen.changed_ns = now_ns();
  serve(&listener);
}
