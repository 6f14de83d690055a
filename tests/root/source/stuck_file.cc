#include "tests/root/source/stuck_file.h"

#include <fcntl.h>
#include <linux/fuse.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace profd::source {
namespace {

constexpr std::uint64_t kFileNode = 2;
constexpr std::uint64_t kFileBytes = 1u << 20;
constexpr std::uint64_t kForeverSeconds = 3'600;

fuse_attr AttributesOf(std::uint64_t node) {
  fuse_attr attributes{};
  attributes.ino = node;
  attributes.size = node == kFileNode ? kFileBytes : 0;
  attributes.mode = node == kFileNode ? S_IFREG | 0444 : S_IFDIR | 0555;
  attributes.nlink = 1;
  return attributes;
}

template <typename Body>
void Reply(int device, std::uint64_t unique, Body body) {
  fuse_out_header header{};
  header.len = sizeof(header) + sizeof(body);
  header.unique = unique;
  std::array<iovec, 2> parts{{{&header, sizeof(header)}, {&body, sizeof(body)}}};
  (void)!::writev(device, parts.data(), parts.size());
}

void Refuse(int device, std::uint64_t unique, int error) {
  fuse_out_header header{};
  header.len = sizeof(header);
  header.error = -error;
  header.unique = unique;
  (void)!::write(device, &header, sizeof(header));
}

}  // namespace

Result<std::unique_ptr<StuckFile>> StuckFile::Mount() {
  UniqueFd device(::open("/dev/fuse", O_RDWR | O_CLOEXEC));
  if (!device.valid()) return Error{ErrorCode::kUnsupported, "no /dev/fuse", ""};
  std::string directory = "/tmp/profd_stuck.XXXXXX";
  if (::mkdtemp(directory.data()) == nullptr) return ErrorFromErrno(errno, "mkdtemp");
  const std::string options =
      "fd=" + std::to_string(device.get()) + ",rootmode=40000,user_id=0,group_id=0,allow_other";
  if (::mount("stuck", directory.c_str(), "fuse", MS_NOSUID | MS_NODEV, options.c_str()) != 0) {
    const Error error{ErrorCode::kUnsupported, std::string("no FUSE: ") + std::strerror(errno), ""};
    ::rmdir(directory.c_str());
    return error;
  }
  return std::unique_ptr<StuckFile>(new StuckFile(std::move(directory), std::move(device)));
}

StuckFile::StuckFile(std::string directory, UniqueFd device)
    : directory_(std::move(directory)), device_(std::move(device)), server_([this] { Serve(); }) {}

StuckFile::~StuckFile() {
  // Ends every wait for an answer, and the server's read.
  ::umount2(directory_.c_str(), MNT_FORCE | MNT_DETACH);
  server_.join();
  ::rmdir(directory_.c_str());
}

void StuckFile::Serve() {
  std::vector<char> request(FUSE_MIN_READ_BUFFER + (1u << 17));
  while (true) {
    const ssize_t got = ::read(device_.get(), request.data(), request.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN || errno == ENOENT)) continue;
    if (got < static_cast<ssize_t>(sizeof(fuse_in_header))) return;
    fuse_in_header header{};
    std::memcpy(&header, request.data(), sizeof(header));
    switch (header.opcode) {
      case FUSE_INIT: {
        fuse_init_out out{};
        out.major = FUSE_KERNEL_VERSION;
        out.minor = 31;
        out.max_write = 1u << 16;
        Reply(device_.get(), header.unique, out);
        break;
      }
      case FUSE_LOOKUP: {
        fuse_entry_out out{};
        out.nodeid = kFileNode;
        out.entry_valid = out.attr_valid = kForeverSeconds;
        out.attr = AttributesOf(kFileNode);
        Reply(device_.get(), header.unique, out);
        break;
      }
      case FUSE_GETATTR: {
        fuse_attr_out out{};
        out.attr_valid = kForeverSeconds;
        out.attr = AttributesOf(header.nodeid);
        Reply(device_.get(), header.unique, out);
        break;
      }
      case FUSE_OPEN:
        Reply(device_.get(), header.unique, fuse_open_out{});
        break;
      case FUSE_READ:
      case FUSE_FORGET:
      case FUSE_BATCH_FORGET:
      case FUSE_INTERRUPT:
        break;  // the point of it all; the others want no answer
      default:
        Refuse(device_.get(), header.unique, ENOSYS);
        break;
    }
  }
}

}  // namespace profd::source
