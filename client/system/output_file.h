// OutputFile: a file that appears whole or not at all.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>

#include "client/system/invoking_user.h"
#include "client/system/temp_files.h"
#include "daemon/base/result.h"

namespace profd::client {

// Where output may go, beside regular files: devices, pipes and sockets, which are written as they
// are; and symbolic links, which are followed.
class OutputFile {
 public:
  using Writer = std::function<Result<void>(std::ostream&)>;

  // Finds out whether `path` can be written, before a collection is spent on it: a name that is a
  // directory, a directory that is not there or not writable. Leaves nothing behind. What fills up
  // or vanishes later is found by Write.
  [[nodiscard]] static Result<void> Check(const std::string& path);

  // Calls `writer` on a temporary file in the same directory, syncs it and renames it. The mode
  // follows the umask, the owner is `owner` if there is one. Returns the number of bytes. Every
  // error names `path`. `temp_files` knows the temporary file as long as it is there.
  [[nodiscard]] static Result<std::uint64_t> Write(const std::string& path, const Writer& writer,
                                                   const std::optional<InvokingUser>& owner,
                                                   TempFiles& temp_files);
};

// The same onto a descriptor that is open already, as stdout is. kIo with an empty message when the
// reader has gone away (EPIPE): there is no reader for a message.
[[nodiscard]] Result<std::uint64_t> WriteToFd(int fd, std::string_view name,
                                              const OutputFile::Writer& writer);

// A command's answer, onto standard output.
[[nodiscard]] Result<void> WriteToStdout(std::string_view text);

}  // namespace profd::client
