// Debian's binaries, which keep no frame pointers, while they wait.
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <string>

#include "tests/root/gdb/beside_gdb.h"
#include "tests/root/gdb/programs.h"

namespace profd::gdb {
namespace {

class DebianPrograms : public BesideGdb {
 protected:
  // One process after the other.
  void ExpectSameStacksOfFamily(std::uint32_t pid) {
    for (const std::uint32_t one : FamilyOf(pid)) ExpectSameStacks(one, NameOf(one));
  }
  [[nodiscard]] std::string Write(const std::string& name, const std::string& text) const {
    const std::string path = folder_.path() + "/" + name;
    std::ofstream(path) << text;
    return path;
  }
  TemporaryFolder folder_;
};

#define SKIP_UNLESS_INSTALLED(path) \
  if (::access(path, X_OK) != 0) GTEST_SKIP() << (path) << " is not installed"

TEST_F(DebianPrograms, Redis) {
  SKIP_UNLESS_INSTALLED("/usr/bin/redis-server");
  // Its timer as slow as it goes.
  auto redis = Program::Start(
      {"/usr/bin/redis-server", "--port", "0", "--unixsocket", folder_.path() + "/redis", "--hz",
       "1", "--save", "", "--dir", folder_.path()},
      SIGTERM);
  ASSERT_TRUE(redis) << redis.error().message;
  for (std::string said; said.find("eady to accept") == std::string::npos;) {
    const auto line = redis->subprocess().ReadLine();
    ASSERT_TRUE(line) << line.error().message;
    said = *line;
  }
  ExpectSameStacks(redis->pid(), "redis-server");
}

TEST_F(DebianPrograms, Nginx) {
  SKIP_UNLESS_INSTALLED("/usr/sbin/nginx");
  const std::string configuration =
      Write("nginx.conf", "daemon off; master_process on; worker_processes 1; pid " +
                              folder_.path() + "/pid; error_log stderr notice;\n" +
                              "thread_pool default threads=3;\nevents {}\n" +
                              "http { access_log off; server { listen unix:" + folder_.path() +
                              "/http; aio threads; } }\n");
  auto nginx = Program::Start({"/usr/sbin/nginx", "-c", configuration}, SIGTERM);
  ASSERT_TRUE(nginx) << nginx.error().message;
  const auto started = nginx->subprocess().WaitForStderr("start worker process ");
  ASSERT_TRUE(started) << nginx->subprocess().Wait().err;
  const auto family = FamilyOf(nginx->pid());
  ASSERT_EQ(family.size(), 2u);
  AwaitAsleep(family[1], 1 + 3);
  ExpectSameStacksOfFamily(nginx->pid());
}

// Writes of its processes are put off for as long as it allows.
TEST_F(DebianPrograms, Postgres) {
  const std::string bin = "/usr/lib/postgresql/15/bin/";
  SKIP_UNLESS_INSTALLED((bin + "postgres").c_str());
  const passwd* user = ::getpwnam("postgres");
  if (user == nullptr) user = ::getpwnam("nobody");
  ASSERT_NE(user, nullptr);
  ASSERT_EQ(::chown(folder_.path().c_str(), user->pw_uid, user->pw_gid), 0);
  testing::SubprocessOptions as_user;
  as_user.uid = user->pw_uid;
  as_user.gid = user->pw_gid;
  as_user.working_directory = folder_.path();
  const std::string data = folder_.path() + "/data";
  const auto made =
      testing::Run({bin + "initdb", "-N", "-A", "trust", "-U", "profd", "-D", data}, as_user);
  ASSERT_EQ(made.exit_code, 0) << made.out << made.err;
  auto postgres =
      Program::Start({bin + "postgres", "-D", data, "-c", "listen_addresses=", "-c",
                      "unix_socket_directories=" + folder_.path(), "-c", "wal_writer_delay=10s",
                      "-c", "bgwriter_delay=10s", "-c", "jit=off"},
                     SIGQUIT, as_user);
  ASSERT_TRUE(postgres) << postgres.error().message;
  ASSERT_TRUE(postgres->subprocess().WaitForStderr("ready to accept connections"));
  // One of its backends in the depth of a query.
  auto client = Program::Start(
      {bin + "psql", "-h", folder_.path(), "-U", "profd", "-d", "postgres", "-qAt", "-c",
       "select 'begun'", "-c", "select n, pg_sleep(86400) from generate_series(1, 3) n order by 1"},
      SIGTERM, as_user);
  ASSERT_TRUE(client) << client.error().message;
  ASSERT_TRUE(client->subprocess().ReadLine());
  ExpectSameStacksOfFamily(postgres->pid());
}

TEST_F(DebianPrograms, Python) {
  SKIP_UNLESS_INSTALLED("/usr/bin/python3.11");
  auto python = Program::Start({"/usr/bin/python3.11", "-I", "-c", R"(
import re, select, socket, threading, time, queue, subprocess
def nested(depth, wait):
    return sorted([depth], key=lambda d: nested(d - 1, wait)) if depth else wait()
lock = threading.Lock()
lock.acquire()
pair = socket.socketpair()
child = subprocess.Popen(["/bin/sleep", "86400"])
waits = [lambda: nested(10, lambda: time.sleep(86400)), lock.acquire, queue.Queue().get, child.wait,
         lambda: pair[0].recv(1), lambda: select.select([pair[0]], [], []),
         lambda: re.sub("a", lambda match: nested(3, lock.acquire), "banana")]
threads = [threading.Thread(target=wait, daemon=True) for wait in waits]
for thread in threads: thread.start()
print(len(threads) + 1, flush=True)
threads[1].join()
)"},
                               SIGKILL);
  ASSERT_TRUE(python) << python.error().message;
  const auto threads = python->subprocess().ReadLine();
  ASSERT_TRUE(threads) << threads.error().message;
  AwaitAsleep(python->pid(), std::stoul(*threads));
  const auto family = FamilyOf(python->pid());
  ExpectSameStacksOfFamily(python->pid());
  for (const std::uint32_t pid : family)
    if (pid != python->pid()) ::kill(static_cast<pid_t>(pid), SIGKILL);
}

TEST_F(DebianPrograms, NodeInNativeCode) {
  SKIP_UNLESS_INSTALLED("/usr/bin/node");
  const std::string fifo = folder_.path() + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  // One of its pool opens a FIFO; the others wait for work, the main thread for events.
  auto node = Program::Start({"/usr/bin/node", "-e",
                              "setInterval(() => {}, 2 ** 31 - 1); require('fs').open('" + fifo +
                                  "', () => {}); setTimeout(() => console.log('begun'), 200)"},
                             SIGKILL);
  ASSERT_TRUE(node) << node.error().message;
  ASSERT_TRUE(node->subprocess().ReadLine());
  ExpectSameStacks(node->pid(), "node");
}

TEST_F(DebianPrograms, Clang) {
  SKIP_UNLESS_INSTALLED("/usr/bin/clang-16");
  const std::string fifo = folder_.path() + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  // Deep in the parser it opens a FIFO without a writer.
  const std::string source =
      Write("nested.cc",
            "namespace a { namespace b { struct S { int f() { if (1) { while (1) {\n"
            "#include \"" +
                fifo + "\"\n} } return 0; } }; } }\n");
  auto clang = Program::Start({"/usr/bin/clang-16", "-fsyntax-only", source}, SIGKILL);
  ASSERT_TRUE(clang) << clang.error().message;
  AwaitAsleep(clang->pid(), 1);
  ExpectSameStacks(clang->pid(), "clang");
}

}  // namespace
}  // namespace profd::gdb
