#include "daemon/aggregate/program_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace profd::aggregate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

ProfileProcess Started(const char* executable, const char* comm, const char* command_line) {
  ProfileProcess process;
  process.executable = executable;
  process.comm = comm;
  process.command_line = command_line;
  return process;
}

TEST(ProgramNames, ALinkGivesItsName) {
  EXPECT_THAT(ProgramNames({Started("/usr/bin/redis-check-rdb", "redis-server",
                                    "/usr/bin/redis-server 127.0.0.1:6379")}),
              ElementsAre(Pair("/usr/bin/redis-check-rdb", "redis-server")));
}

TEST(ProgramNames, TheKernelKeepsFifteenBytes) {
  EXPECT_THAT(ProgramNames({Started("/opt/x", "a-name-of-more-", "a-name-of-more-than-15 -v")}),
              ElementsAre(Pair("/opt/x", "a-name-of-more-than-15")));
}

TEST(ProgramNames, ScriptsAndRenamedProcessesKeepTheNameOfTheFile) {
  EXPECT_THAT(ProgramNames({Started("/usr/bin/python3.11", "train.py", "/usr/bin/python3 train.py"),
                            Started("/usr/sbin/nginx", "nginx", "nginx: master process"),
                            Started("/usr/bin/x", "renamed", "/usr/bin/x"),
                            Started("/usr/bin/y", "y", "y"), Started("", "z", "z")}),
              IsEmpty());
}

TEST(ProgramNames, OneFileOfManyNamesKeepsItsOwn) {
  EXPECT_THAT(ProgramNames({Started("/bin/busybox", "sleep", "sleep 1"),
                            Started("/bin/busybox", "sh", "sh -c x")}),
              IsEmpty());
  EXPECT_THAT(ProgramNames({Started("/bin/busybox", "sh", "sh -c x"),
                            Started("/bin/busybox", "sh", "sh -c y")}),
              ElementsAre(Pair("/bin/busybox", "sh")));
}

}  // namespace
}  // namespace profd::aggregate
