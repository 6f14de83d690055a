// TempFiles: what must not stay behind when profctl ends early.
#pragma once

#include <mutex>
#include <set>
#include <string>

namespace profd::client {

// Owned by main; used from any thread. Holds names only: the code that makes a file or directory
// adds it before and takes it out after its life. SIGKILL leaves behind what was in it.
class TempFiles {
 public:
  TempFiles() = default;
  TempFiles(const TempFiles&) = delete;
  TempFiles& operator=(const TempFiles&) = delete;

  void Add(const std::string& path);
  void Forget(const std::string& path);
  // Removes files and empty directories, a directory after what is in it.
  void RemoveAll();

 private:
  std::mutex mutex_;
  std::set<std::string> paths_;
};

}  // namespace profd::client
