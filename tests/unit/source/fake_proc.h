// FakeProc: a /proc of files, under a directory that goes away with it.
#pragma once

#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "daemon/base/proc/proc_fs.h"
#include "daemon/source/procfs/process_texts.h"
#include "tests/support/direct_reader.h"

namespace profd::source {

class FakeProc {
 public:
  FakeProc() {
    std::string pattern = (std::filesystem::temp_directory_path() / "profd_proc.XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    root_ = pattern;
    readers_ = std::make_unique<test::DirectReaders>(std::make_unique<ProcessTextParser>(), proc());
  }
  FakeProc(const FakeProc&) = delete;
  FakeProc& operator=(const FakeProc&) = delete;
  ~FakeProc() { std::filesystem::remove_all(root_); }

  // Of ProcessTextParsers.
  [[nodiscard]] reader::Readers& readers() const { return *readers_; }

  void Write(const std::string& path, const std::string& text) const {
    const auto full = root_ / path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full, std::ios::binary) << text;
  }

  // A process with one thread that started `start_ns` after boot.
  void AddProcess(std::uint32_t pid, std::uint64_t start_ns, const std::string& comm) const {
    const std::string directory = std::to_string(pid);
    Write(directory + "/stat", Stat(pid, start_ns, comm));
    Write(directory + "/comm", comm + "\n");
    Write(directory + "/cmdline", comm + std::string("\0--flag\0", 8));
    Write(directory + "/cgroup", "0::/some.slice\n");
    Write(directory + "/status", "Name:\t" + comm + "\nTgid:\t" + directory +
                                     "\nUid:\t29\t30\t30\t30\nNSpid:\t" + directory +
                                     "\t7\nThreads:\t1\n");
    Write(directory + "/maps", "00400000-00401000 r-xp 00000000 08:01 1234    /bin/" + comm + "\n");
    Write(directory + "/task/" + directory + "/comm", comm + "\n");
    std::filesystem::create_symlink("/bin/" + comm, root_ / directory / "exe");
  }

  void Remove(std::uint32_t pid) const { std::filesystem::remove_all(root_ / std::to_string(pid)); }

  static std::string Stat(std::uint32_t pid, std::uint64_t start_ns, const std::string& comm) {
    return std::to_string(pid) + " (" + comm + ") S 1 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 " +
           std::to_string(start_ns / 10'000'000) + " 1000 100 18446744073709551615\n";
  }

  [[nodiscard]] ProcFs proc() const { return ProcFs(root_.string()); }
  [[nodiscard]] const std::filesystem::path& root() const { return root_; }

 private:
  std::filesystem::path root_;
  std::unique_ptr<test::DirectReaders> readers_;
};

}  // namespace profd::source
