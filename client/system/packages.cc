#include "client/system/packages.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <sstream>
#include <string_view>

#include "client/system/pipe.h"
#include "daemon/base/files.h"

namespace profd::client {
namespace {

constexpr std::size_t kMaxPaths = 1'000;
constexpr std::size_t kMaxOutput = 1u << 20;
constexpr std::string_view kMerged = "/usr";  // what lies below /usr/lib may be listed in /lib

// What it printed; its messages, of files it does not know, go nowhere.
std::string RunDpkg(const std::vector<std::string>& patterns) {
  std::vector<std::string> words{"dpkg-query", "-S", "--"};
  words.insert(words.end(), patterns.begin(), patterns.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  char locale[] = "LC_ALL=C";
  char path[] = "PATH=/usr/bin:/bin";
  char* environment[] = {locale, path, nullptr};
  Result<Pipe> pipe = MakePipe();
  if (!pipe) return "";
  posix_spawn_file_actions_t actions;
  if (::posix_spawn_file_actions_init(&actions) != 0) return "";
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, pipe->write.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int failed =
      ::posix_spawn(&child, "/usr/bin/dpkg-query", &actions, nullptr, argv.data(), environment);
  ::posix_spawn_file_actions_destroy(&actions);
  pipe->write.Reset();
  if (failed != 0) return "";
  Result<std::string> text = ReadAll(pipe->read.get(), "dpkg-query", kMaxOutput);
  pipe->read.Reset();
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return text ? *std::move(text) : "";
}

}  // namespace

std::map<std::string, std::string> ParsePackageLines(const std::string& text) {
  std::map<std::string, std::string> packages;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    // "redis-tools: /usr/bin/x", "libc6:amd64: /lib/y", "a, b: /z", "diversion by p from: /w".
    const std::size_t end = line.find(": /");
    if (end == std::string::npos || line.starts_with("diversion by ")) continue;
    std::string package = line.substr(0, std::min(end, line.find(',')));
    package.resize(std::min(package.size(), package.find(':')));
    packages.emplace(line.substr(end + 2), std::move(package));
  }
  return packages;
}

std::map<std::string, std::string> PackagesOf(const std::vector<std::string>& paths) {
  std::vector<std::string> patterns;
  for (const std::string& path : paths) {
    // dpkg takes names with these for patterns.
    if (!path.starts_with('/') || path.find_first_of("*?[\\\n") != std::string::npos) continue;
    if (patterns.size() >= kMaxPaths) break;
    patterns.push_back(path);
    if (path.starts_with("/usr/lib")) patterns.push_back(path.substr(kMerged.size()));
  }
  if (patterns.empty()) return {};
  const std::map<std::string, std::string> found = ParsePackageLines(RunDpkg(patterns));
  std::map<std::string, std::string> packages;
  for (const std::string& path : paths) {
    auto known = found.find(path);
    if (known == found.end() && path.starts_with("/usr/lib"))
      known = found.find(path.substr(kMerged.size()));
    if (known != found.end()) packages.emplace(path, known->second);
  }
  return packages;
}

std::string DebugPackage(const std::string& package) {
  return package + (package == "libc6" ? "-dbg" : "-dbgsym");
}

}  // namespace profd::client
