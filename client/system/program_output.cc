#include "client/system/program_output.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "client/system/pipe.h"
#include "client/text/text.h"
#include "daemon/base/files.h"
#include "daemon/base/unique_fd.h"

namespace profd::client {
namespace {

constexpr std::size_t kMaxWords = 4096;

// A file without a name: the program may read and write in any order.
Result<UniqueFd> NewFile(std::string_view bytes) {
  UniqueFd file(::memfd_create("input", MFD_CLOEXEC));
  if (!file.valid()) return ErrorFromErrno(errno, "cannot hold the input of a program");
  if (const int failed = WriteAll(file.get(), bytes); failed != 0)
    return ErrorFromErrno(failed, "cannot hold the input of a program");
  if (::lseek(file.get(), 0, SEEK_SET) < 0)
    return ErrorFromErrno(errno, "cannot hold the input of a program");
  return file;
}

// The first line of what it said.
std::string WordsIn(int file) {
  if (::lseek(file, 0, SEEK_SET) < 0) return "";
  std::string words(kMaxWords, '\0');
  const ssize_t size = ::read(file, words.data(), words.size());
  words.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  return SafeText(words.substr(0, words.find('\n')));
}

void LimitCpuTime(pid_t child, std::chrono::seconds time) {
  if (time.count() == 0) return;
  const auto seconds = static_cast<rlim_t>(time.count());
  const rlimit limit{seconds, seconds};
  // Where that fails, the child has ended.
  static_cast<void>(::prlimit(child, RLIMIT_CPU, &limit, nullptr));
}

}  // namespace

Result<std::string> RunProgram(const std::string& program,
                               const std::vector<std::string>& arguments, std::string_view input,
                               const ProgramLimits& limits) {
  const Result<UniqueFd> in = NewFile(input);
  if (!in) return in.error();
  const Result<UniqueFd> words = NewFile("");
  if (!words) return words.error();
  Result<Pipe> pipe = MakePipe();
  if (!pipe) return pipe.error();
  posix_spawn_file_actions_t actions;
  if (const int failed = ::posix_spawn_file_actions_init(&actions); failed != 0)
    return ErrorFromErrno(failed, "cannot run " + program);
  ::posix_spawn_file_actions_adddup2(&actions, in->get(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, pipe->write.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, words->get(), STDERR_FILENO);
  std::vector<std::string> texts{program};
  texts.insert(texts.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  argv.reserve(texts.size() + 1);
  for (std::string& text : texts) argv.push_back(text.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  const int failed =
      ::posix_spawn(&child, program.c_str(), &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  pipe->write.Reset();
  if (failed != 0) return ErrorFromErrno(failed, "cannot run " + program);
  LimitCpuTime(child, limits.cpu_time);
  Result<std::string> output = ReadAll(pipe->read.get(), program, limits.max_bytes);
  pipe->read.Reset();
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!output) return output;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return Error{ErrorCode::kIo, program + " failed: " + WordsIn(words->get()), ""};
  return output;
}

}  // namespace profd::client
