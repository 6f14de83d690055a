// StuckFile: a file whose pages never come, and a process that hangs in it.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <thread>

#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"
#include "tests/root/source/puppet.h"

namespace profd::source {

// A FUSE file system of one file, which can be opened and mapped, but whose content is never
// handed out: who touches it waits, and no signal helps, until this goes (which needs no help of
// those who wait). Owned by the test; serves from a thread of its own.
class StuckFile {
 public:
  // kUnsupported: no FUSE here.
  [[nodiscard]] static Result<std::unique_ptr<StuckFile>> Mount();
  StuckFile(const StuckFile&) = delete;
  StuckFile& operator=(const StuckFile&) = delete;
  ~StuckFile();

  [[nodiscard]] std::string path() const { return directory_ + "/stuck"; }

 private:
  StuckFile(std::string directory, UniqueFd device);
  void Serve();

  const std::string directory_;
  UniqueFd device_;
  std::jthread server_;
};

// A process of this user whose stack lies in the file, so that who reads it hangs. It says 1 before
// it sleeps for ever, or 2 if it cannot be made so.
[[nodiscard]] Puppet::Body Hanging(const std::string& path, uid_t user = 0);

}  // namespace profd::source
