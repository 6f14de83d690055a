// Opener: which files and memory of targets may be opened, and the process that opens them for a
// parser.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "daemon/base/proc/proc_fs.h"
#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"
#include "daemon/reader/channel.h"
#include "daemon/reader/message.h"

namespace profd::reader {

// What a parser requests.
struct OpenRequest {
  enum class What : std::uint8_t {
    kMapped,   // the file behind an executable mapping of the process: [begin, end), or if that is
               // gone another one of the same device and inode, if these are given
    kInRoot,   // `path` as the process sees it; its user must be allowed to read it
    kOwned,    // the same, and the file must belong to that user; no link is followed
    kOnHost,   // `path` as profd sees it; everybody must be allowed to read it
    kMemory,   // the memory of the process: an address is a file offset
    kProcess,  // /proc/PID/`path`: "maps", "cmdline", ...
    kTemporary,  // an empty file without a name, on a disk, to be written
  };
  What what = What::kMapped;
  std::uint32_t pid = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint32_t device_major = 0;
  std::uint32_t device_minor = 0;
  std::uint64_t inode = 0;  // 0: not known
  std::string path{};
};

// A file that is open, and what stat says of it.
struct OpenedFile {
  UniqueFd fd;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;
  bool overlay = false;  // of overlayfs: inode numbers may differ from those of the mapping
};

// Who a process is when it opens files: its fsuid, fsgid and groups, in profd's user namespace.
struct Identity {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::vector<std::uint32_t> groups;
};

// From /proc/PID/status. kCorrupt: a line is missing.
[[nodiscard]] Result<Identity> ParseIdentity(std::string_view status);

// Whether `who` may read a file, by its owner, groups and mode: the rule where profd cannot take on
// the user's own rights. A file with an access control list is refused to all but its owner, since
// only the kernel evaluates lists.
[[nodiscard]] bool ModeAllowsReading(const Identity& who, const struct stat& file,
                                     bool has_access_list);

// File systems whose files are made by the kernel when they are read, or act when they are opened:
// procfs, sysfs, tracefs, cgroupfs and others. `type` is f_type of statfs.
[[nodiscard]] bool IsKernelFileSystem(std::uint64_t type);

// Opens files for a parser. Used by one thread.
class FileOpener {
 public:
  virtual ~FileOpener() = default;
  // Nothing but a regular file of a real file system is opened, or for kMemory and kProcess that
  // very file of procfs. kPermissionDenied: the target's user may not read it. kNotFound: the file,
  // the mapping or the process is gone.
  [[nodiscard]] virtual Result<OpenedFile> Open(const OpenRequest& request) = 0;
};

// Opens in the calling process, with its rights. A file is inspected before it is opened: no device
// and no FIFO notices. May block as long as the file system does.
class Opener : public FileOpener {
 public:
  explicit Opener(ProcFs proc = ProcFs()) : proc_(std::move(proc)) {}
  [[nodiscard]] Result<OpenedFile> Open(const OpenRequest& request) override;

 private:
  [[nodiscard]] std::string Directory(std::uint32_t pid) const {
    return proc_.Path(std::to_string(pid));
  }
  [[nodiscard]] Result<OpenedFile> OpenMapped(const OpenRequest& request) const;
  [[nodiscard]] Result<OpenedFile> OpenInRoot(const OpenRequest& request) const;
  [[nodiscard]] Result<OpenedFile> OpenProcessFile(const OpenRequest& request) const;

  const ProcFs proc_;
};

// Reads /proc/PID/`name` to its end. kExhausted: it is longer than `max_bytes`.
[[nodiscard]] Result<std::string> ReadProcessFile(FileOpener& opener, std::uint32_t pid,
                                                  const std::string& name, std::size_t max_bytes);

// The opener's process: serves its parser until the other end is closed.
void ServeOpenRequests(Channel channel);

// The parser's side. Used by its one thread.
class OpenerClient : public FileOpener {
 public:
  explicit OpenerClient(Channel channel) : channel_(std::move(channel)) {}
  // kUnavailable: the opener has ended.
  [[nodiscard]] Result<OpenedFile> Open(const OpenRequest& request) override;
  // Whether the opener has ended: then the parser is of no use, either.
  [[nodiscard]] bool has_ended() const { return has_ended_; }

 private:
  bool has_ended_ = false;
  Channel channel_;
};

}  // namespace profd::reader
