#include "daemon/reader/opener.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <optional>
#include <string_view>
#include <utility>

#include "daemon/base/files.h"
#include "daemon/base/private_file.h"
#include "daemon/base/proc/maps_parser.h"
#include "daemon/base/proc/proc_fs.h"
#include "daemon/base/proc/proc_stat.h"
#include "daemon/reader/sandbox.h"

namespace profd::reader {
namespace {

constexpr std::size_t kMaxStatusBytes = 1u << 20;  // a process may be in 65,536 groups
constexpr std::size_t kMaxRequestBytes = 16'384;

std::int64_t Ns(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

std::vector<std::uint32_t> NumbersIn(std::string_view text) {
  std::vector<std::uint32_t> numbers;
  while (!text.empty()) {
    const auto begin = text.find_first_not_of(" \t");
    if (begin == std::string_view::npos) break;
    text.remove_prefix(begin);
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{}) break;
    numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
  return numbers;
}

// While it lives, this process opens files as the target does. Not taken on: profd may not change
// its user; then the walk along a path has at least no rights that profd's own user does not have.
class AsTarget {
 public:
  explicit AsTarget(const Identity& who) : changed_(MayChangeUser()) {
    if (!changed_) {
      restricted_.emplace();
      return;
    }
    // setfsuid does not say that it failed; a wrong id would leave root's, so all are read back.
    const std::vector<gid_t> groups(who.groups.begin(), who.groups.end());
    ::syscall(SYS_setgroups, groups.size(), groups.data());
    ::setfsgid(who.gid);
    ::setfsuid(who.uid);
    complete_ = static_cast<std::uint32_t>(::setfsuid(static_cast<uid_t>(-1))) == who.uid &&
                static_cast<std::uint32_t>(::setfsgid(static_cast<gid_t>(-1))) == who.gid;
    // The kernel forgets this when the user changes, and the next call may never return.
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  }
  AsTarget(const AsTarget&) = delete;
  AsTarget& operator=(const AsTarget&) = delete;
  ~AsTarget() {
    if (!changed_) return;
    ::setfsuid(::geteuid());
    ::setfsgid(::getegid());
    ::syscall(SYS_setgroups, 0, nullptr);
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  }
  // Whether the kernel itself decides what may be read.
  [[nodiscard]] bool kernel_decides() const { return changed_ && complete_; }
  [[nodiscard]] bool failed() const { return changed_ && !complete_; }

 private:
  const bool changed_;
  bool complete_ = false;
  std::optional<WithoutFileCapabilities> restricted_;
};

// A file that was found and not opened: O_PATH calls no driver and waits for no other end.
struct FoundFile {
  UniqueFd handle;
  struct stat status {};
  struct statfs system {};
};

Result<FoundFile> Inspect(UniqueFd handle, const std::string& name) {
  FoundFile found;
  found.handle = std::move(handle);
  if (::fstat(found.handle.get(), &found.status) != 0 ||
      ::fstatfs(found.handle.get(), &found.system) != 0)
    return ErrorFromErrno(errno, name);
  return found;
}

Result<FoundFile> FindAt(int directory, const std::string& path, std::uint64_t resolve,
                         const std::string& name) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = resolve;
  UniqueFd handle(
      static_cast<int>(::syscall(SYS_openat2, directory, path.c_str(), &how, sizeof how)));
  if (!handle.valid()) return ErrorFromErrno(errno, name);
  return Inspect(std::move(handle), name);
}

Result<void> CheckKind(const FoundFile& found, const std::string& name) {
  if (!S_ISREG(found.status.st_mode))
    return Error{ErrorCode::kNotFound, name + ": not a regular file", ""};
  if (IsKernelFileSystem(static_cast<std::uint64_t>(found.system.f_type)))
    return Error{ErrorCode::kPermissionDenied, name + ": not a file of a real file system", ""};
  return {};
}

// The very file that was inspected, whatever its path means now.
Result<OpenedFile> OpenFound(const FoundFile& found, const std::string& name) {
  const std::string path = "/proc/self/fd/" + std::to_string(found.handle.get());
  OpenedFile file;
  file.fd.Reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file.fd.valid()) return ErrorFromErrno(errno, name);
  file.device = found.status.st_dev;
  file.inode = found.status.st_ino;
  file.bytes = static_cast<std::uint64_t>(found.status.st_size);
  file.modified_ns = Ns(found.status.st_mtim);
  file.changed_ns = Ns(found.status.st_ctim);
  file.overlay = found.system.f_type == OVERLAYFS_SUPER_MAGIC;
  return file;
}

bool HasAccessList(const FoundFile& found) {
  const std::string path = "/proc/self/fd/" + std::to_string(found.handle.get());
  return ::getxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) > 0;
}

// As map_files has it: without the zeros before numbers that maps has.
std::string RangeText(std::uint64_t begin, std::uint64_t end) {
  std::array<char, 40> text{};
  char* at = std::to_chars(text.data(), text.data() + 16, begin, 16).ptr;
  *at++ = '-';
  return {text.data(), std::to_chars(at, at + 16, end, 16).ptr};
}

// Of <linux/fs.h> of Linux 6.11, which Debian 12 does not have.
struct ProcmapQuery {
  std::uint64_t size = 0;
  std::uint64_t query_flags = 0;
  std::uint64_t query_addr = 0;
  std::uint64_t vma_start = 0;
  std::uint64_t vma_end = 0;
  std::uint64_t vma_flags = 0;
  std::uint64_t vma_page_size = 0;
  std::uint64_t vma_offset = 0;
  std::uint64_t inode = 0;
  std::uint32_t dev_major = 0;
  std::uint32_t dev_minor = 0;
  std::uint32_t vma_name_size = 0;
  std::uint32_t build_id_size = 0;
  std::uint64_t vma_name_addr = 0;
  std::uint64_t build_id_addr = 0;
};
static_assert(kProcmapQuery == _IOWR('f', 17, ProcmapQuery));
constexpr std::uint64_t kExecutable = 4;

// Whether the process has exactly this executable mapping. Nothing: this kernel cannot say so in
// one call.
std::optional<bool> HasExecutableMapping(const std::string& process, const OpenRequest& request) {
  const UniqueFd maps(::open((process + "/maps").c_str(), O_RDONLY | O_CLOEXEC));
  ProcmapQuery query;
  query.size = sizeof query;
  query.query_addr = request.begin;
  if (!maps.valid() || ::ioctl(maps.get(), kProcmapQuery, &query) != 0) return std::nullopt;
  return query.vma_start == request.begin && query.vma_end == request.end &&
         (query.vma_flags & kExecutable) != 0 &&
         (request.inode == 0 ||
          (query.inode == request.inode && query.dev_major == request.device_major &&
           query.dev_minor == request.device_minor));
}

// The executable mappings that the request may mean, the best one first. A file that is mapped but
// not executable is none of them: the process may have it from another one, without the right to
// read it.
std::vector<MapsLine> MappingsFor(const OpenRequest& request, const std::string& maps) {
  constexpr std::size_t kEnough = 3;  // if these cannot be opened, no other one will
  std::vector<MapsLine> mappings;
  ParseMaps(maps, [&](MapsLine&& line) {
    if (!line.executable || line.inode == 0) return;
    line.path.resize(WithoutDeleted(line.path).size());
    const bool exact = line.start == request.begin && line.end == request.end;
    const bool same_file = line.inode == request.inode &&
                           line.device_major == request.device_major &&
                           line.device_minor == request.device_minor;
    if (exact && (request.inode == 0 || same_file))
      mappings.insert(mappings.begin(), std::move(line));
    else if (same_file && mappings.size() < kEnough)
      mappings.push_back(std::move(line));
  });
  return mappings;
}

// Through map_files: right for deleted, replaced and hidden files, but needs
// CAP_CHECKPOINT_RESTORE. Without it by the path, if the file there is still the mapped one.
Result<FoundFile> FindMapped(const std::string& process, const MapsLine& mapping) {
  const std::string path = process + "/map_files/" + RangeText(mapping.start, mapping.end);
  UniqueFd handle(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (handle.valid()) return Inspect(std::move(handle), path);
  const Error error = ErrorFromErrno(errno, path);
  if (error.code == ErrorCode::kNotFound) return error;
  if (!mapping.path.starts_with('/')) return error;
  // Without CAP_SYS_PTRACE its root is out of reach: then the path of a process in profd's own root
  // is tried.
  const UniqueFd root(::open((process + "/root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  auto found = root.valid() ? FindAt(root.get(), mapping.path,
                                     RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS, mapping.path)
                            : FindAt(AT_FDCWD, mapping.path, RESOLVE_NO_MAGICLINKS, mapping.path);
  if (!found) return error.code == ErrorCode::kPermissionDenied ? error : found.error();
  // Overlayfs and btrfs show another device in maps than in stat. An inode number alone can be had
  // by chance, or made, so such a file must be one that everybody may read.
  const bool same_device = major(found->status.st_dev) == mapping.device_major &&
                           minor(found->status.st_dev) == mapping.device_minor;
  if (found->status.st_ino != mapping.inode ||
      (!same_device && (found->status.st_mode & S_IROTH) == 0))
    return Error{ErrorCode::kNotFound, mapping.path + ": another file is there now", ""};
  return found;
}

Result<OpenedFile> OpenOnHost(const OpenRequest& request) {
  const auto found = FindAt(AT_FDCWD, request.path, RESOLVE_NO_MAGICLINKS, request.path);
  if (!found) return found.error();
  PROFD_TRY(CheckKind(*found, request.path));
  if ((found->status.st_mode & S_IROTH) == 0)
    return Error{ErrorCode::kPermissionDenied, request.path + ": not everybody may read it", ""};
  return OpenFound(*found, request.path);
}

Result<OpenedFile> MakeTemporary() {
  auto made = MakeUnnamedFile();
  if (!made) return made.error();
  OpenedFile file;
  file.fd = *std::move(made);
  return file;
}

std::string Pack(const OpenRequest& request) {
  return Packer()
      .Number(request.what)
      .Number(request.pid)
      .Number(request.begin)
      .Number(request.end)
      .Number(request.device_major)
      .Number(request.device_minor)
      .Number(request.inode)
      .Text(request.path)
      .Take();
}

OpenRequest UnpackRequest(std::string_view bytes) {
  Unpacker fields(bytes);
  OpenRequest request;
  request.what = fields.Number<OpenRequest::What>();
  request.pid = fields.Number<std::uint32_t>();
  request.begin = fields.Number<std::uint64_t>();
  request.end = fields.Number<std::uint64_t>();
  request.device_major = fields.Number<std::uint32_t>();
  request.device_minor = fields.Number<std::uint32_t>();
  request.inode = fields.Number<std::uint64_t>();
  request.path = fields.Text();
  return request;
}

}  // namespace

Result<Identity> ParseIdentity(std::string_view status) {
  constexpr std::size_t kFsId = 3;  // real, effective, saved, of the file system
  const auto uids = NumbersIn(StatusLine(status, "Uid:"));
  const auto gids = NumbersIn(StatusLine(status, "Gid:"));
  if (uids.size() <= kFsId || gids.size() <= kFsId)
    return Error{ErrorCode::kCorrupt, "the status of the process does not say who it is", ""};
  return Identity{uids[kFsId], gids[kFsId], NumbersIn(StatusLine(status, "Groups:"))};
}

bool ModeAllowsReading(const Identity& who, const struct stat& file, bool has_access_list) {
  if (who.uid == 0) return true;
  if (who.uid == file.st_uid) return (file.st_mode & S_IRUSR) != 0;
  if (has_access_list) return false;
  const bool in_group =
      who.gid == file.st_gid || std::ranges::find(who.groups, file.st_gid) != who.groups.end();
  return (file.st_mode & (in_group ? S_IRGRP : S_IROTH)) != 0;
}

bool IsKernelFileSystem(std::uint64_t type) {
  // <linux/magic.h>, and for those that it lacks the file systems' own sources.
  constexpr std::array<std::uint64_t, 27> kTypes{PROC_SUPER_MAGIC,
                                                 SYSFS_MAGIC,
                                                 DEBUGFS_MAGIC,
                                                 TRACEFS_MAGIC,
                                                 CGROUP_SUPER_MAGIC,
                                                 CGROUP2_SUPER_MAGIC,
                                                 SECURITYFS_MAGIC,
                                                 SELINUX_MAGIC,
                                                 SMACK_MAGIC,
                                                 AAFS_MAGIC,
                                                 BPF_FS_MAGIC,
                                                 EFIVARFS_MAGIC,
                                                 PSTOREFS_MAGIC,
                                                 DEVPTS_SUPER_MAGIC,
                                                 BINFMTFS_MAGIC,
                                                 SOCKFS_MAGIC,
                                                 PIPEFS_MAGIC,
                                                 NSFS_MAGIC,
                                                 RDTGROUP_SUPER_MAGIC,
                                                 XENFS_SUPER_MAGIC,
                                                 ANON_INODE_FS_MAGIC,
                                                 0x62656570 /* configfs */,
                                                 0x19800202 /* mqueue */,
                                                 0x65735543 /* fusectl */,
                                                 0x67596969 /* rpc_pipefs */,
                                                 0x6e667364 /* nfsd */,
                                                 0xa647361 /* functionfs */};
  return std::ranges::find(kTypes, type) != kTypes.end();
}

Result<OpenedFile> Opener::OpenMapped(const OpenRequest& request) const {
  // Most processes have hundreds of mappings: reading them all for each file would cost more than
  // the files.
  if (HasExecutableMapping(Directory(request.pid), request).value_or(false)) {
    MapsLine mapping;
    mapping.start = request.begin;
    mapping.end = request.end;
    const auto found = FindMapped(Directory(request.pid), mapping);
    // Another file may have been mapped there in between.
    if (found && HasExecutableMapping(Directory(request.pid), request).value_or(false)) {
      PROFD_TRY(CheckKind(*found, "a mapped file"));
      return OpenFound(*found, "a mapped file");
    }
  }
  const auto maps = proc_.Read(std::to_string(request.pid) + "/maps");
  if (!maps) return maps.error();
  Error error{ErrorCode::kNotFound, "the mapping is gone", ""};
  for (const MapsLine& mapping : MappingsFor(request, *maps)) {
    const auto found = FindMapped(Directory(request.pid), mapping);
    if (!found) {
      error = found.error();
      continue;
    }
    PROFD_TRY(CheckKind(*found, mapping.path));
    return OpenFound(*found, mapping.path);
  }
  return error;
}

Result<OpenedFile> Opener::OpenInRoot(const OpenRequest& request) const {
  const bool owned = request.what == OpenRequest::What::kOwned;
  const auto status = proc_.Read(std::to_string(request.pid) + "/status", kMaxStatusBytes);
  if (!status) return status.error();
  const auto who = ParseIdentity(*status);
  if (!who) return who.error();
  const UniqueFd root(
      ::open((Directory(request.pid) + "/root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) return ErrorFromErrno(errno, Directory(request.pid) + "/root");

  const std::uint64_t resolve =
      RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | (owned ? std::uint64_t{RESOLVE_NO_SYMLINKS} : 0);
  bool may_read = false;
  Result<FoundFile> found = Error{};
  {
    const AsTarget as_target(*who);
    if (as_target.failed())
      return Error{ErrorCode::kPermissionDenied, "cannot take on the rights of its user", ""};
    found = FindAt(root.get(), request.path, resolve, request.path);
    if (!found) return found.error();
    PROFD_TRY(CheckKind(*found, request.path));
    may_read = as_target.kernel_decides()
                   ? ::syscall(SYS_faccessat2, found->handle.get(), "", R_OK,
                               AT_EMPTY_PATH | AT_EACCESS) == 0
                   : ModeAllowsReading(*who, found->status, HasAccessList(*found));
  }
  if (!may_read)
    return Error{ErrorCode::kPermissionDenied, request.path + ": its user may not read it", ""};
  if (owned && found->status.st_uid != who->uid)
    return Error{ErrorCode::kPermissionDenied, request.path + ": does not belong to its user", ""};
  return OpenFound(*found, request.path);
}

Result<OpenedFile> Opener::OpenProcessFile(const OpenRequest& request) const {
  const bool memory = request.what == OpenRequest::What::kMemory;
  // A plain name, or one of a thread: "task/TID/maps".
  if (!memory && (request.path.empty() || request.path.front() == '/' ||
                  request.path.find("..") != std::string::npos))
    return Error{ErrorCode::kInvalidArgument, "not a file of a process", ""};
  const std::string path = Directory(request.pid) + "/" + (memory ? "mem" : request.path);
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC;
  how.resolve = RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS;
  OpenedFile file;
  file.fd.Reset(static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how)));
  struct statfs system {};
  struct statfs proc {};
  if (!file.fd.valid() || ::fstatfs(file.fd.get(), &system) != 0 ||
      ::statfs(proc_.root().c_str(), &proc) != 0)
    return ErrorFromErrno(errno, path);
  // Something may be mounted over it.
  if (system.f_type != proc.f_type)
    return Error{ErrorCode::kPermissionDenied, path + ": not of procfs", ""};
  return file;
}

Result<OpenedFile> Opener::Open(const OpenRequest& request) {
  switch (request.what) {
    case OpenRequest::What::kMapped:
      return OpenMapped(request);
    case OpenRequest::What::kInRoot:
    case OpenRequest::What::kOwned:
      return OpenInRoot(request);
    case OpenRequest::What::kOnHost:
      return OpenOnHost(request);
    case OpenRequest::What::kMemory:
    case OpenRequest::What::kProcess:
      return OpenProcessFile(request);
    case OpenRequest::What::kTemporary:
      return MakeTemporary();
  }
  return Error{ErrorCode::kInvalidArgument, "no such request", ""};
}

Result<std::string> ReadProcessFile(FileOpener& opener, std::uint32_t pid, const std::string& name,
                                    std::size_t max_bytes) {
  const auto file = opener.Open({.what = OpenRequest::What::kProcess, .pid = pid, .path = name});
  if (!file) return file.error();
  return ReadAll(file->fd.get(), name + " of process " + std::to_string(pid), max_bytes);
}

void ServeOpenRequests(Channel channel) {
  Opener opener;
  for (;;) {
    const auto message = channel.Receive(kMaxRequestBytes, Channel::Time::max());
    if (!message || !*message) return;
    const auto file = opener.Open(UnpackRequest((*message)->body));
    Packer answer;
    std::vector<int> descriptors;
    if (file) {
      answer.Number(file->device)
          .Number(file->inode)
          .Number(file->bytes)
          .Number(file->modified_ns)
          .Number(file->changed_ns)
          .Number(file->overlay);
      descriptors.push_back(file->fd.get());
    } else {
      answer.Number(file.error().code).Text(file.error().message);
    }
    if (!channel.Send(file ? 1 : 0, answer.Take(), Channel::Time::max(), descriptors)) return;
  }
}

Result<OpenedFile> OpenerClient::Open(const OpenRequest& request) {
  const auto sent = channel_.Send(0, Pack(request), Channel::Time::max());
  auto message = sent ? channel_.Receive(kMaxRequestBytes, Channel::Time::max())
                      : Result<std::optional<Message>>(sent.error());
  has_ended_ = !message || !*message;
  if (has_ended_) return Error{ErrorCode::kUnavailable, "the opener has ended", ""};
  Unpacker fields((*message)->body);
  if ((*message)->kind == 0) {
    const auto code = fields.Number<ErrorCode>();
    return Error{code, std::string(fields.Text()), ""};
  }
  OpenedFile file;
  file.device = fields.Number<std::uint64_t>();
  file.inode = fields.Number<std::uint64_t>();
  file.bytes = fields.Number<std::uint64_t>();
  file.modified_ns = fields.Number<std::int64_t>();
  file.changed_ns = fields.Number<std::int64_t>();
  file.overlay = fields.Number<bool>();
  if (!fields.done() || (*message)->descriptors.size() != 1)
    return Error{ErrorCode::kCorrupt, "the opener's answer makes no sense", ""};
  file.fd = std::move((*message)->descriptors.front());
  return file;
}

}  // namespace profd::reader
