/* A library for LD_PRELOAD: counts the calls that a program makes of the C library about its connections, and connects to
   HOOK_TO whenever the program wants port HOOK_FROM. The counts are written to HOOK_OUT when the program ends. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define DESCRIPTORS 65536

static atomic_long sockets, connects, binds, sends, sendmsgs, recvs, recvmsgs, reads, closes, lookups, watches;
static atomic_bool is_socket[DESCRIPTORS];

static int is_ours(int fd) { return fd >= 0 && fd < DESCRIPTORS && is_socket[fd]; }

#define NEXT(type, name) ((type)dlsym(RTLD_NEXT, name))

int socket(int domain, int type, int protocol) {
    int fd = NEXT(int (*)(int, int, int), "socket")(domain, type, protocol);
    if ((domain == AF_INET || domain == AF_INET6) && (type & 0xff) == SOCK_STREAM && fd >= 0 && fd < DESCRIPTORS) {
        is_socket[fd] = 1;
        sockets++;
    }
    return fd;
}

static in_port_t port_of(const char *name) {
    const char *text = getenv(name);
    return htons(text ? atoi(text) : 0);
}

int connect(int fd, const struct sockaddr *address, socklen_t size) {
    struct sockaddr_storage other;
    connects += is_ours(fd);
    if (size <= sizeof other && (address->sa_family == AF_INET || address->sa_family == AF_INET6)) {
        memcpy(&other, address, size);
        /* The port is at the same place in both families. */
        struct sockaddr_in *in = (struct sockaddr_in *)&other;
        if (in->sin_port == port_of("HOOK_FROM"))
            in->sin_port = port_of("HOOK_TO");
        address = (struct sockaddr *)&other;
    }
    return NEXT(int (*)(int, const struct sockaddr *, socklen_t), "connect")(fd, address, size);
}

int bind(int fd, const struct sockaddr *address, socklen_t size) {
    binds += is_ours(fd);
    return NEXT(int (*)(int, const struct sockaddr *, socklen_t), "bind")(fd, address, size);
}

ssize_t send(int fd, const void *bytes, size_t size, int flags) {
    sends += is_ours(fd);
    return NEXT(ssize_t (*)(int, const void *, size_t, int), "send")(fd, bytes, size, flags);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    sendmsgs += is_ours(fd);
    return NEXT(ssize_t (*)(int, const struct msghdr *, int), "sendmsg")(fd, message, flags);
}

ssize_t recv(int fd, void *bytes, size_t size, int flags) {
    recvs += is_ours(fd);
    return NEXT(ssize_t (*)(int, void *, size_t, int), "recv")(fd, bytes, size, flags);
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags) {
    recvmsgs += is_ours(fd);
    return NEXT(ssize_t (*)(int, struct msghdr *, int), "recvmsg")(fd, message, flags);
}

ssize_t read(int fd, void *bytes, size_t size) {
    reads += is_ours(fd);
    return NEXT(ssize_t (*)(int, void *, size_t), "read")(fd, bytes, size);
}

int close(int fd) {
    if (is_ours(fd)) {
        is_socket[fd] = 0;
        closes++;
    }
    return NEXT(int (*)(int), "close")(fd);
}

int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    lookups++;
    return NEXT(int (*)(const char *, const char *, const struct addrinfo *, struct addrinfo **), "getaddrinfo")(
        host, service, hints, found);
}

int epoll_ctl(int epoll, int what, int fd, struct epoll_event *event) {
    watches += is_ours(fd);
    return NEXT(int (*)(int, int, int, struct epoll_event *), "epoll_ctl")(epoll, what, fd, event);
}

__attribute__((destructor)) static void write_counts(void) {
    const char *name = getenv("HOOK_OUT");
    FILE *out = name ? fopen(name, "w") : NULL;
    if (!out)
        return;
    fprintf(out, "socket %ld\nconnect %ld\nbind %ld\nsend %ld\nsendmsg %ld\n", sockets, connects, binds, sends, sendmsgs);
    fprintf(out, "recv %ld\nrecvmsg %ld\nread %ld\nclose %ld\n", recvs, recvmsgs, reads, closes);
    fprintf(out, "getaddrinfo %ld\nepoll_ctl %ld\n", lookups, watches);
    fclose(out);
}
