/* A library for LD_PRELOAD that hides receive time stamps of sockets, as if the system had none. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/socket.h>

typedef int (*setsockopt_call)(int, int, int, const void *, socklen_t);

int setsockopt(int fd, int level, int option, const void *value, socklen_t size) {
    if (level == SOL_SOCKET && option == SO_TIMESTAMPING) {
        errno = ENOPROTOOPT;
        return -1;
    }
    return ((setsockopt_call)dlsym(RTLD_NEXT, "setsockopt"))(fd, level, option, value, size);
}
