/*
 * First process of the guest: makes the host's root its own, read-only, with fresh /tmp, /run,
 * /dev, /proc and /sys, runs one command there and powers off. What to run and where its output
 * goes lies in a second, writable 9p share: `command`, `environment` and `directory` in
 * (zero-terminated words), `stdout`, `stderr` and `status` out. With `disk=DEVICE` on the kernel's
 * command line it starts the /sbin/init of that disk.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_WORDS 1024
#define SHARE "/share"
#define ROOT "/newroot"
#define P9 "trans=virtio,version=9p2000.L,msize=262144,"

static void end(const char* what) {
  if (what) printf("guest: %s: %s\n", what, strerror(errno));
  sync();
  reboot(RB_POWER_OFF);
}

static void must_mount(const char* source, const char* target, const char* type,
                       unsigned long flags, const char* data) {
  mkdir(target, 0755);
  if (mount(source, target, type, flags, data)) end(target);
}

static int by_name(const struct dirent** a, const struct dirent** b) { return alphasort(a, b); }

static void load_modules(void) {
  struct dirent** names;
  int count = scandir("/modules", &names, NULL, by_name);
  for (int i = 0; i < count; i++) {
    char path[512];
    if (names[i]->d_name[0] == '.') continue;
    snprintf(path, sizeof(path), "/modules/%s", names[i]->d_name);
    int fd = open(path, O_RDONLY);
    if (syscall(SYS_finit_module, fd, "", 0) && errno != EEXIST) end(path);
    close(fd);
  }
}

/* Zero-terminated words of a file; the array ends with NULL. */
static char** read_words(const char* path) {
  static char text[3][1 << 17];
  static char* words[3][MAX_WORDS + 1];
  static int used;
  int fd = open(path, O_RDONLY);
  ssize_t bytes = fd < 0 ? -1 : read(fd, text[used], sizeof(text[used]) - 1);
  int count = 0;
  if (bytes < 0) end(path);
  close(fd);
  for (char* word = text[used]; word < text[used] + bytes && count < MAX_WORDS;
       word += strlen(word) + 1)
    words[used][count++] = word;
  return words[used++];
}

/* The folders of the host that lie under a fresh file system, and are wanted: the first is where to
 * run. */
static void bring_back(char** folders) {
  for (; *folders; folders++) {
    char from[4096], to[4096];
    if (strncmp(*folders, "/tmp/", 5) && strncmp(*folders, "/var/tmp/", 9) &&
        strncmp(*folders, "/run/", 5))
      continue;
    snprintf(from, sizeof(from), "/host%s", *folders);
    snprintf(to, sizeof(to), ROOT "%s", *folders);
    for (char* slash = strchr(to + sizeof(ROOT), '/'); slash; slash = strchr(slash + 1, '/')) {
      *slash = 0;
      mkdir(to, 0755);
      *slash = '/';
    }
    mkdir(to, 0755);
    if (mount(from, to, NULL, MS_BIND, NULL)) end(to);
  }
}

static void make_root(char** folders) {
  must_mount("root", "/host", "9p", MS_RDONLY, P9 "cache=loose");
  must_mount("/host", ROOT, NULL, MS_BIND, NULL);
  must_mount("tmp", ROOT "/tmp", "tmpfs", 0, "mode=1777");
  must_mount("tmp", ROOT "/var/tmp", "tmpfs", 0, "mode=1777");
  must_mount("run", ROOT "/run", "tmpfs", 0, "mode=755");
  must_mount("dev", ROOT "/dev", "devtmpfs", 0, NULL);
  must_mount("proc", ROOT "/proc", "proc", 0, NULL);
  must_mount("sys", ROOT "/sys", "sysfs", 0, NULL);
  /* Wanted, but a kernel may lack one. */
  mkdir(ROOT "/dev/pts", 0755);
  mkdir(ROOT "/dev/shm", 0755);
  mount("pts", ROOT "/dev/pts", "devpts", 0, NULL);
  mount("shm", ROOT "/dev/shm", "tmpfs", 0, "mode=1777");
  mount("bpf", ROOT "/sys/fs/bpf", "bpf", 0, NULL);
  mount("cgroup", ROOT "/sys/fs/cgroup", "cgroup2", 0, NULL);
  mount("tracefs", ROOT "/sys/kernel/tracing", "tracefs", 0, NULL);
  mount("debugfs", ROOT "/sys/kernel/debug", "debugfs", 0, NULL);
  symlink("/proc/self/fd", ROOT "/dev/fd");
  mkdir(ROOT "/run/out", 0755);
  mount("out", ROOT "/run/out", "9p", 0, P9 "cache=none");
  bring_back(folders);
}

/* With a clock of its own, a guest boots with one (machine.py). */
static void bring_up_cpus(void) {
  glob_t found;
  if (glob(ROOT "/sys/devices/system/cpu/cpu[0-9]*/online", 0, NULL, &found)) return;
  for (size_t i = 0; i < found.gl_pathc; i++) {
    int fd = open(found.gl_pathv[i], O_WRONLY);
    if (write(fd, "1", 1) != 1 && errno != EINVAL) end(found.gl_pathv[i]);
    close(fd);
  }
  globfree(&found);
}

static void loopback_up(void) {
  struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
  int fd = socket(AF_INET, SOCK_DGRAM, 0);
  ioctl(fd, SIOCSIFFLAGS, &request);
  close(fd);
}

static void run_command(char** command, char** environment, const char* directory) {
  setsid();
  dup2(open("/dev/null", O_RDONLY), 0);
  dup2(open(SHARE "/stdout", O_WRONLY | O_APPEND), 1);
  dup2(open(SHARE "/stderr", O_WRONLY | O_APPEND), 2);
  if (chroot(ROOT) || chdir("/") || chdir(directory)) {
    fprintf(stderr, "guest: cannot enter %s: %s\n", directory, strerror(errno));
    _exit(125);
  }
  execvpe(command[0], command, environment);
  fprintf(stderr, "guest: cannot run %s: %s\n", command[0], strerror(errno));
  _exit(127);
}

static void boot_disk(const char* device) {
  char* const words[] = {"init", NULL};
  char* const environment[] = {NULL}; /* systemd would pass ours on */
  must_mount(device, ROOT, "ext4", 0, NULL);
  must_mount("/dev", ROOT "/dev", NULL, MS_MOVE, NULL);
  if (chdir(ROOT) || mount(".", "/", NULL, MS_MOVE, NULL) || chroot(".")) end(device);
  execve("/sbin/init", words, environment);
  end("/sbin/init");
}

int main(void) {
  must_mount("dev", "/dev", "devtmpfs", 0, NULL);
  load_modules();
  if (getenv("disk")) boot_disk(getenv("disk"));
  must_mount("share", SHARE, "9p", 0, P9 "cache=none");
  char** command = read_words(SHARE "/command");
  char** environment = read_words(SHARE "/environment");
  char** folders = read_words(SHARE "/folders");
  make_root(folders);
  bring_up_cpus();
  loopback_up();
  for (char** word = environment; *word; word++) putenv(*word);

  pid_t child = fork();
  if (child == 0) run_command(command, environment, folders[0]);
  int status = 0;
  for (pid_t gone = 0; gone != child;) gone = wait(&status); /* orphans come to process 1 */
  FILE* file = fopen(SHARE "/status", "w");
  if (!file) end("status");
  fprintf(file, "%d\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  fclose(file);
  end(NULL);
}
